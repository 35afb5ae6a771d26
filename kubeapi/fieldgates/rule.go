package fieldgates

import "reflect"

// rule is a part of a Go type that belongs to a feature.
type rule struct {
	gate string
	of   reflect.Type
	// used reports whether a value, by its pointer, has the part; drop removes it.
	used func(pointer any) bool
	drop func(pointer any)
	// whole limits the rule to objects: the same within another object is left.
	whole bool
}

// usedIn reports whether a value within an object has the part, by their pointers.
func (r *rule) usedIn(obj, pointer any) bool { return (!r.whole || pointer == obj) && r.used(pointer) }

// whole limits a rule to objects, see rule.whole.
func whole(r rule) rule {
	r.whole = true
	return r
}

// field is the rule that a field of T belongs to a feature.
func field[T, F any](gate string, at func(*T) *F) rule {
	return part(gate,
		func(t *T) bool { return !reflect.ValueOf(at(t)).Elem().IsZero() },
		func(t *T) {
			var none F
			*at(t) = none
		})
}

// part is the rule that something of T belongs to a feature.
func part[T any](gate string, used func(*T) bool, drop func(*T)) rule {
	return rule{gate: gate, of: reflect.TypeFor[T](),
		used: func(pointer any) bool {
			t, ok := pointer.(*T)
			return ok && used(t)
		},
		drop: func(pointer any) {
			if t, ok := pointer.(*T); ok {
				drop(t)
			}
		}}
}
