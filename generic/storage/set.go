package storage

import (
	"slices"
	"strings"
)

// Set is a list of names and values of one record, for selectors. It implements labels.Labels and fields.Fields
// with less memory than a map. It is sorted by key and immutable.
type Set []Pair

// Pair is a name with its value.
type Pair struct{ Key, Value string }

// NewSet sorts pairs in place and returns them as a Set. For duplicate keys the last one wins.
func NewSet(pairs []Pair) Set {
	ordered := slices.IsSortedFunc(pairs, func(a, b Pair) int {
		if a.Key < b.Key {
			return -1
		}
		return 1 // also for equal keys: duplicates must be removed
	})
	if ordered {
		return pairs
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	out := pairs[:0]
	for i, p := range pairs {
		if i+1 == len(pairs) || pairs[i+1].Key != p.Key {
			out = append(out, p)
		}
	}
	return out
}

// SetOf returns the Set of a map.
func SetOf(m map[string]string) Set {
	if len(m) == 0 {
		return nil
	}
	pairs := make([]Pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, Pair{k, v})
	}
	return NewSet(pairs)
}

// fewPairs is the size up to which Lookup compares all pairs. Most keys differ in length, which needs no access
// to their text.
const fewPairs = 8

// Lookup returns the value of a key and whether it exists.
func (s Set) Lookup(key string) (value string, exists bool) {
	if len(s) <= fewPairs {
		for i := range s {
			if s[i].Key == key {
				return s[i].Value, true
			}
		}
		return "", false
	}
	low, high := 0, len(s)
	for low < high {
		if i := (low + high) / 2; s[i].Key < key {
			low = i + 1
		} else {
			high = i
		}
	}
	if low < len(s) && s[low].Key == key {
		return s[low].Value, true
	}
	return "", false
}

// Has reports whether a key exists.
func (s Set) Has(key string) bool {
	_, exists := s.Lookup(key)
	return exists
}

// Get returns the value of a key, or "".
func (s Set) Get(key string) string {
	value, _ := s.Lookup(key)
	return value
}
