package fieldgates

import (
	"reflect"
	"slices"
	"sync"
)

// Set is the features that are off. It is safe for concurrent use; nil has none.
type Set struct {
	rules   map[reflect.Type][]rule
	enabled func(gate string) bool

	mu    sync.Mutex
	plans map[reflect.Type]*plan
}

// New returns the set of the features that enabled says are off.
func New(enabled func(gate string) bool) *Set {
	on := map[string]bool{}
	ask := func(gate string) bool {
		if _, asked := on[gate]; !asked {
			on[gate] = enabled(gate)
		}
		return on[gate]
	}
	s := &Set{rules: map[reflect.Type][]rule{}, plans: map[reflect.Type]*plan{}, enabled: ask}
	for _, r := range table() {
		if !ask(r.gate) {
			s.rules[r.of] = append(s.rules[r.of], r)
		}
	}
	for _, markers := range markersOf() {
		for _, m := range markers {
			allOn(m.gates, ask)
		}
	}
	return s
}

// Drop removes what obj, a pointer to a struct, has of features that are off and that
// old, the object it replaces, does not use. A nil old is that of a new object.
func (s *Set) Drop(obj, old any) {
	if s == nil {
		return
	}
	v := reflect.ValueOf(obj)
	p := s.plan(v.Type())
	if p == nil {
		return
	}
	var off []string
	p.walk(v, func(r *rule, pointer any) {
		if r.usedIn(obj, pointer) && !slices.Contains(off, r.gate) {
			off = append(off, r.gate)
		}
	})
	if off == nil {
		return
	}
	if old != nil {
		p.walk(reflect.ValueOf(old), func(r *rule, pointer any) {
			if i := slices.Index(off, r.gate); i >= 0 && r.usedIn(old, pointer) {
				off = slices.Delete(off, i, i+1)
			}
		})
	}
	p.walk(v, func(r *rule, pointer any) {
		if slices.Contains(off, r.gate) && r.usedIn(obj, pointer) {
			r.drop(pointer)
		}
	})
}

// plan returns the plan of a type, nil if nothing of it is off.
func (s *Set) plan(t reflect.Type) *plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.compile(t); p.useful() {
		return p
	}
	return nil
}
