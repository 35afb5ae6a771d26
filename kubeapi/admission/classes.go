package admission

import (
	"triplane.dev/generic/api/kind"
)

// newest returns the newest of the objects for which pick is true; of several, the first by name.
func newest[T kind.Object](list []T, pick func(T) bool) (best T, found bool) {
	for _, o := range list {
		if !pick(o) {
			continue
		}
		at := o.GetCreationTimestamp()
		if !found {
			best, found = o, true
			continue
		}
		bestAt := best.GetCreationTimestamp()
		if bestAt.Before(&at) || bestAt.Equal(&at) && o.GetName() < best.GetName() {
			best = o
		}
	}
	return best, found
}
