package storage

import "hash/fnv"

// Shard selects objects whose hash is in one of its ranges (KEP-5866).
type Shard struct {
	// ByNamespace hashes the namespace of an object instead of its UID.
	ByNamespace bool
	Ranges      []HashRange
}

// HashRange is the hashes from First to Last, inclusive.
type HashRange struct{ First, Last uint64 }

// ShardHash returns the hash of a value for ranges: 64-bit FNV-1a, the same in all servers.
func ShardHash(value string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // never fails
	return h.Sum64()
}

// Names of metadata fields that every record has.
const (
	FieldName      = "metadata.name"
	FieldNamespace = "metadata.namespace"
	FieldUID       = "metadata.uid"
)

// Holds reports whether an object with these fields belongs to the shard.
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
