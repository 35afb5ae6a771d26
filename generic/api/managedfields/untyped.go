package managedfields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// byTree walks objects without a Go type by the type of the schema.
type byTree struct{ ref schema.TypeRef }

func (c byTree) compare(w *walk, live, obj runtime.Object) {
	l, ok := live.(*unstructured.Unstructured)
	r, also := obj.(*unstructured.Unstructured)
	if !ok || !also {
		w.fail()
	}
	w.compareAny(l.Object, r.Object, c.ref)
}

// atom is the one shape of a type that a value has, as far as it shows.
func (w *walk) atom(v any, ref schema.TypeRef) schema.Atom {
	a, ok := w.schema.Resolve(ref)
	if !ok {
		w.fail()
	}
	switch v.(type) {
	case nil:
	case string, bool, int64, float64:
		if a.Scalar == nil {
			w.fail()
		}
		return schema.Atom{Scalar: a.Scalar}
	case map[string]any:
		if a.Map == nil {
			w.fail()
		}
		return schema.Atom{Map: a.Map}
	case []any:
		if a.List == nil {
			w.fail()
		}
		return schema.Atom{List: a.List}
	default:
		w.fail()
	}
	return a
}

// fits gives up where a scalar is not one of the schema's.
func (w *walk) fits(v any, s schema.Scalar) {
	ok := true
	switch v.(type) {
	case string:
		ok = s == schema.String || s == schema.Untyped
	case bool:
		ok = s == schema.Boolean || s == schema.Untyped
	case int64, float64:
		ok = s == schema.Numeric || s == schema.Untyped
	}
	if !ok {
		w.fail()
	}
}

// check gives up where a value that is owned as a whole does not fit the schema.
func (w *walk) check(v any, ref schema.TypeRef) {
	a := w.atom(v, ref)
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			w.check(e, w.fieldRef(a.Map, k))
		}
	case []any:
		if a.List.ElementRelationship == schema.Associative {
			if items := w.identities(v, a.List); w.unique {
				w.inOrder(items)
			}
		}
		for _, e := range v {
			w.check(e, a.List.ElementType)
		}
	case nil:
	default:
		w.fits(v, *a.Scalar)
	}
}

// fieldRef is the type of a field; the walk gives up on those that the schema
// does not have.
func (w *walk) fieldRef(m *schema.Map, name string) schema.TypeRef {
	if f, ok := m.FindField(name); ok {
		return f.Type
	}
	if m.ElementType == (schema.TypeRef{}) {
		w.fail()
	}
	return m.ElementType
}

// compareAny compares two values that are both there, if only as null.
func (w *walk) compareAny(l, r any, ref schema.TypeRef) {
	if l == nil && r == nil {
		return
	}
	a := w.atom(r, ref)
	if r == nil {
		a = w.atom(l, ref)
	} else if l != nil {
		if b := w.atom(l, ref); (a.Map == nil) != (b.Map == nil) || (a.List == nil) != (b.List == nil) {
			w.fail() // of two shapes
		}
	}
	lm, _ := l.(map[string]any)
	rm, _ := r.(map[string]any)
	ll, _ := l.([]any)
	rl, _ := r.([]any)
	switch {
	case a.Map != nil && a.Map.ElementRelationship != schema.Atomic && len(lm)+len(rm) > 0:
		w.compareAnyMaps(lm, rm, a.Map)
	case a.Map == nil && a.List != nil && a.List.ElementRelationship == schema.Associative && len(ll)+len(rl) > 0:
		w.compareAnyLists(ll, rl, a.List)
	default:
		w.check(l, ref)
		w.check(r, ref)
		if !equalAny(l, r) {
			w.modified()
		}
	}
}

func equalAny(l, r any) bool {
	switch l := l.(type) {
	case string:
		s, ok := r.(string)
		return ok && l == s
	case bool:
		b, ok := r.(bool)
		return ok && l == b
	}
	return value.Equals(value.NewValueInterface(l), value.NewValueInterface(r))
}

func (w *walk) compareAnyMaps(l, r map[string]any, m *schema.Map) {
	for k, rv := range fieldsOf(r) {
		if len(w.path) <= 1 && w.skips(k) {
			continue
		}
		ref := w.fieldRef(m, k)
		pe := fieldpath.FieldNameElement(k)
		lv, ok := l[k]
		if !ok {
			w.addMember(w.here(w.changed), pe, rv, ref)
			continue
		}
		w.path = append(w.path, pe)
		w.compareAny(lv, rv, ref)
		w.path = w.path[:len(w.path)-1]
	}
	for k, lv := range fieldsOf(l) {
		if _, ok := r[k]; ok || len(w.path) <= 1 && w.skips(k) {
			continue
		}
		w.addMember(w.here(w.removed), fieldpath.FieldNameElement(k), lv, w.fieldRef(m, k))
	}
}

func (w *walk) compareAnyLists(l, r []any, t *schema.List) {
	ls, rs := w.identities(l, t), w.identities(r, t)
	w.list(ls, rs, items{
		both:    func(i, j int) { w.compareAny(l[i], r[j], t.ElementType) },
		added:   func(s *fieldpath.Set, j int) { w.addAny(s, rs[j], r[j], t.ElementType) },
		removed: func(s *fieldpath.Set, i int) { w.addAny(s, ls[i], l[i], t.ElementType) },
	})
}

// identities of a list's items.
func (w *walk) identities(items []any, t *schema.List) []fieldpath.PathElement {
	out := make([]fieldpath.PathElement, len(items))
	for i, item := range items {
		if len(t.Keys) == 0 {
			switch item.(type) {
			case string, bool, int64, float64:
			default:
				w.fail()
			}
			out[i] = fieldpath.ValueElement(value.NewValueInterface(item))
			continue
		}
		m, ok := item.(map[string]any)
		element, known := w.schema.Resolve(t.ElementType)
		if !ok || !known || element.Map == nil {
			w.fail()
		}
		fields := make(value.FieldList, 0, len(t.Keys))
		for _, name := range t.Keys {
			if v, ok := m[name]; ok {
				fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(v)})
			} else if f, ok := element.Map.FindField(name); ok && f.Default != nil {
				fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(f.Default)})
			}
		}
		out[i] = w.keyElement(fields)
	}
	return out
}

// addMember enters a value that has no counterpart, and all below it.
func (w *walk) addMember(s *fieldpath.Set, pe fieldpath.PathElement, v any, ref schema.TypeRef) {
	s.Members.Insert(pe)
	w.addAny(s, pe, v, ref)
}

// addAny enters what is below a value.
func (w *walk) addAny(s *fieldpath.Set, pe fieldpath.PathElement, v any, ref schema.TypeRef) {
	a := w.atom(v, ref)
	switch v := v.(type) {
	case map[string]any:
		if a.Map.ElementRelationship == schema.Atomic {
			w.check(v, ref)
			return
		}
		if len(v) == 0 {
			return
		}
		below := s.Children.Descend(pe)
		for k, e := range fieldsOf(v) {
			w.addMember(below, fieldpath.FieldNameElement(k), e, w.fieldRef(a.Map, k))
		}
	case []any:
		if a.List.ElementRelationship != schema.Associative {
			w.check(v, ref)
			return
		}
		if len(v) == 0 {
			return
		}
		below := s.Children.Descend(pe)
		elements := w.identities(v, a.List)
		w.addItems(below, elements, func(i int) { w.addAny(below, elements[i], v[i], a.List.ElementType) })
	case nil:
	default:
		w.fits(v, *a.Scalar)
	}
}
