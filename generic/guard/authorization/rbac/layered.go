package rbac

// layered is a map over another one, which it does not change. The zero value of V stands for no entry.
type layered[K, V comparable] struct {
	own, below map[K]V
}

// over returns an empty map over l, which must have none below, and not be changed any more.
func (l *layered[K, V]) over() layered[K, V] { return layered[K, V]{below: l.own} }

// keys returns the keys that have entries.
func (l *layered[K, V]) keys() []K {
	var none V
	keys := make([]K, 0, len(l.own)+len(l.below))
	for k, v := range l.own {
		if v != none {
			keys = append(keys, k)
		}
	}
	for k := range l.below {
		if _, own := l.own[k]; !own {
			keys = append(keys, k)
		}
	}
	return keys
}

func (l *layered[K, V]) get(k K) V {
	v, ok := l.own[k]
	if !ok && l.below != nil {
		v = l.below[k]
	}
	return v
}

// set sets the entry of k; the zero value of V deletes it.
func (l *layered[K, V]) set(k K, v V) {
	var none V
	if v == none {
		if _, ok := l.below[k]; !ok {
			delete(l.own, k)
			return
		}
	}
	if l.own == nil {
		l.own = map[K]V{}
	}
	l.own[k] = v
}
