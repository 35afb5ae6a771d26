package fieldgates

import (
	"reflect"
	"slices"
)

// plan is the ways from the values of a type to parts that are off.
type plan struct {
	rules  []rule // of the type itself
	fields []way  // of a struct
	elem   *plan  // of a pointer, slice or map
	kind   reflect.Kind
}

// way is that of a field.
type way struct {
	index int
	plan  *plan
}

func (p *plan) useful() bool { return p.rules != nil || p.fields != nil || p.elem != nil }

// compile returns the plan of a type. A type within itself ends the way.
func (s *Set) compile(t reflect.Type) *plan {
	if p, ok := s.plans[t]; ok {
		return p
	}
	p := &plan{rules: slices.Concat(s.rules[t], marked(t, s.enabled)), kind: t.Kind()}
	s.plans[t] = p
	switch p.kind {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				if next := s.compile(f.Type); next.useful() {
					p.fields = append(p.fields, way{i, next})
				}
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if next := s.compile(t.Elem()); next.useful() {
			p.elem = next
		}
	default:
	}
	return p
}

// walk calls visit for all rules with what they are about. Parts that are visited may be
// changed.
func (p *plan) walk(v reflect.Value, visit func(r *rule, pointer any)) {
	if p.rules != nil {
		pointer := v.Addr().Interface()
		for i := range p.rules {
			visit(&p.rules[i], pointer)
		}
	}
	for _, f := range p.fields {
		f.plan.walk(v.Field(f.index), visit)
	}
	if p.elem == nil {
		return
	}
	switch p.kind {
	case reflect.Pointer:
		if !v.IsNil() {
			p.elem.walk(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.elem.walk(v.Index(i), visit)
		}
	case reflect.Map:
		p.walkMap(v, visit)
	default:
	}
}

// walkMap visits copies, since what is in a map cannot be changed there.
func (p *plan) walkMap(v reflect.Value, visit func(r *rule, pointer any)) {
	for entries := v.MapRange(); entries.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(entries.Value())
		p.elem.walk(value, visit)
		v.SetMapIndex(entries.Key(), value)
	}
}
