// Package defaults fills in what a client left out of an object.
package defaults

// Set points p to v where it points nowhere.
func Set[V any](p **V, v V) {
	if *p == nil {
		*p = &v
	}
}

// Value sets what is the zero value to v.
func Value[V comparable](p *V, v V) {
	var zero V
	if *p == zero {
		*p = v
	}
}
