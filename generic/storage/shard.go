package storage

import "hash/fnv"

// Shard is a part of a resource's objects: those whose hash is in one of its ranges (KEP-5866).
type Shard struct {
	// ByNamespace hashes the namespace of an object, otherwise its UID is hashed.
	ByNamespace bool
	Ranges      []HashRange
}

// HashRange are the hashes from First to Last, both inclusive.
type HashRange struct{ First, Last uint64 }

// ShardHash is the hash that ranges are of: 64-bit FNV-1a, the same in all servers.
func ShardHash(value string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // never fails
	return h.Sum64()
}

// Holds reports whether an object belongs to the shard.
func (s *Shard) Holds(a *Attributes) bool {
	hash := a.UIDHash
	if s.ByNamespace {
		hash = ShardHash(a.Fields["metadata.namespace"])
	}
	for _, r := range s.Ranges {
		if r.First <= hash && hash <= r.Last {
			return true
		}
	}
	return false
}
