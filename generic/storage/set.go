package storage

import (
	"slices"
	"strings"
)

// Set is names with their values: what selectors look at of one record. It implements
// labels.Labels and fields.Fields, and takes a fraction of a map. It is sorted by key
// and immutable.
type Set []Pair

// Pair is a name with its value.
type Pair struct{ Key, Value string }

// NewSet takes over pairs and brings them into order. Of several with one key the last
// counts, as in a map that they are put into.
func NewSet(pairs []Pair) Set {
	ordered := slices.IsSortedFunc(pairs, func(a, b Pair) int {
		if a.Key < b.Key {
			return -1
		}
		return 1 // equal keys are out of order, too
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

// SetOf is the Set of a map.
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

// fewPairs is how many pairs are looked at one after the other: most keys differ in length, and to find
// that out takes no look at their text, which is elsewhere in memory.
const fewPairs = 8

// Lookup returns the value of a key, and whether there is one.
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

// Has reports whether there is a value of a key.
func (s Set) Has(key string) bool {
	_, exists := s.Lookup(key)
	return exists
}

// Get returns the value of a key, "" if there is none.
func (s Set) Get(key string) string {
	value, _ := s.Lookup(key)
	return value
}
