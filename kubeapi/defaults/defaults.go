package defaults

// Set points p to a copy of v where it points nowhere.
func Set[V any](p **V, v V) {
	if *p == nil {
		c := v // so that nothing is allocated where there is a value
		*p = &c
	}
}
