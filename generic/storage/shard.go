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

// Fields of metadata that every record has among those of selectors.
const (
	FieldName      = "metadata.name"
	FieldNamespace = "metadata.namespace"
	FieldUID       = "metadata.uid"
)

// Holds reports whether an object of these fields belongs to the shard.
func (s *Shard) Holds(fields *Set) bool {
	of := FieldUID
	if s.ByNamespace {
		of = FieldNamespace
	}
	hash := ShardHash(fields.Get(of))
	for _, r := range s.Ranges {
		if r.First <= hash && hash <= r.Last {
			return true
		}
	}
	return false
}
