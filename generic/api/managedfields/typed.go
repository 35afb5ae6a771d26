package managedfields

import (
	"bytes"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"triplane.dev/generic/storage/object"
)

// pointed returns what a value is or points to; null is true where it is nothing.
func pointed(v reflect.Value) (_ reflect.Value, null bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v, true
		}
		return v.Elem(), false
	case reflect.Map, reflect.Slice:
		return v, v.IsNil()
	}
	return v, false
}

// byPlan walks objects of a Go type by its plan.
type byPlan struct{ plan *node }

func (c byPlan) compare(w *walk, live, obj runtime.Object) {
	w.compareTyped(reflect.ValueOf(live), reflect.ValueOf(obj), c.plan)
}

// compareTyped compares two values that are both there, if only as null.
func (w *walk) compareTyped(l, r reflect.Value, n *node) {
	if n.kind == opaque {
		w.compareAny(w.plain(l), w.plain(r), n.ref)
		return
	}
	l, lnull := pointed(l)
	r, rnull := pointed(r)
	switch n.kind {
	case leaf:
		if lnull != rnull || !lnull && !equal(l, r) {
			w.modified()
		}
	case structure:
		w.compareStructs(l, r, lnull, rnull, n)
	case mapping:
		w.compareMaps(l, r, lnull, rnull, n)
	case list:
		w.compareLists(l, r, lnull, rnull, n)
	default:
		w.fail()
	}
}

// plain is the JSON form of a value that makes its own.
func (w *walk) plain(v reflect.Value) any {
	u, err := value.TypeReflectEntryOf(v.Type()).ToUnstructured(v)
	if err != nil {
		w.fail()
	}
	return u
}

// equal compares values that are owned as a whole. What Go finds the same is the
// same as JSON; of the rest, JSON may hide the difference.
func equal(l, r reflect.Value) bool {
	switch l.Kind() {
	case reflect.String:
		return l.String() == r.String()
	case reflect.Bool:
		return l.Bool() == r.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return l.Int() == r.Int()
	case reflect.Slice:
		if l.Type().Elem().Kind() == reflect.Uint8 {
			return bytes.Equal(l.Bytes(), r.Bytes())
		}
	}
	return reflect.DeepEqual(l.Interface(), r.Interface()) || value.Equals(reflected(l), reflected(r))
}

// reflected is a value as the library sees it.
func reflected(v reflect.Value) value.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	out, err := value.NewValueReflect(p.Interface())
	if err != nil { // what it gets is a pointer
		return value.NewValueInterface(nil)
	}
	return out
}

// there reports whether JSON shows a field of a struct.
func (f *planField) there(s reflect.Value, null bool) (reflect.Value, bool) {
	if null {
		return s, false
	}
	if f.index < 0 {
		v := f.entry.GetFrom(s)
		return v, !f.entry.CanOmit(v)
	}
	v := s.Field(f.index)
	return v, f.always || !empty(v)
}

// empty reports the values that omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (w *walk) compareStructs(l, r reflect.Value, lnull, rnull bool, n *node) {
	if len(w.path) == 1 && !lnull && !rnull && object.Identical(l, r) {
		return // as the spec of most updates
	}
	some := false
	for i := range n.fields {
		f := &n.fields[i]
		if len(w.path) <= 1 && w.skips(f.entry.JsonName) {
			some = true
			continue
		}
		lv, lok := f.there(l, lnull)
		rv, rok := f.there(r, rnull)
		switch {
		case lok && rok:
			w.path = append(w.path, f.element)
			w.compareTyped(lv, rv, f.node)
			w.path = w.path[:len(w.path)-1]
		case rok:
			w.addTyped(w.here(w.changed), f.element, rv, f.node)
		case lok:
			w.addTyped(w.here(w.removed), f.element, lv, f.node)
		}
		some = some || lok || rok
	}
	if !some && lnull != rnull {
		w.modified()
	}
}

// skips reports the fields at the top and in metadata that are not looked at.
func (w *walk) skips(name string) bool {
	if len(w.path) == 0 {
		return name == "kind" || name == "apiVersion"
	}
	return name == "managedFields" && w.path[0].FieldName != nil && *w.path[0].FieldName == "metadata"
}

func (w *walk) compareMaps(l, r reflect.Value, lnull, rnull bool, n *node) {
	if length(l, lnull) == 0 && length(r, rnull) == 0 {
		if lnull != rnull {
			w.modified()
		}
		return
	}
	if !rnull {
		for k, rv := range entriesOfMap(r) {
			pe := fieldpath.FieldNameElement(k.String())
			var lv reflect.Value
			if !lnull {
				lv = l.MapIndex(k)
			}
			if lv.IsValid() {
				w.path = append(w.path, pe)
				w.compareTyped(lv, rv, n.elem)
				w.path = w.path[:len(w.path)-1]
			} else {
				w.addTyped(w.here(w.changed), pe, rv, n.elem)
			}
		}
	}
	if lnull {
		return
	}
	for k, lv := range entriesOfMap(l) {
		if rnull || !r.MapIndex(k).IsValid() {
			w.addTyped(w.here(w.removed), fieldpath.FieldNameElement(k.String()), lv, n.elem)
		}
	}
}

func length(v reflect.Value, null bool) int {
	if null {
		return 0
	}
	return v.Len()
}

func (w *walk) compareLists(l, r reflect.Value, lnull, rnull bool, n *node) {
	if length(l, lnull) == 0 && length(r, rnull) == 0 {
		if lnull != rnull {
			w.modified()
		}
		return
	}
	ls, rs := w.elements(l, lnull, n), w.elements(r, rnull, n)
	w.list(ls, rs, items{
		both:    func(i, j int) { w.compareTyped(l.Index(i), r.Index(j), n.elem) },
		added:   func(s *fieldpath.Set, j int) { w.addChildren(s, rs[j], r.Index(j), n.elem) },
		removed: func(s *fieldpath.Set, i int) { w.addChildren(s, ls[i], l.Index(i), n.elem) },
	})
}

// elements are the identities of a list's items.
func (w *walk) elements(v reflect.Value, null bool, n *node) []fieldpath.PathElement {
	count := length(v, null)
	out := make([]fieldpath.PathElement, count)
	for i := range count {
		item := v.Index(i)
		if len(n.keys) == 0 {
			out[i] = fieldpath.ValueElement(value.NewValueInterface(scalar(item)))
			continue
		}
		fields := make(value.FieldList, 0, len(n.keys))
		for _, k := range n.keys {
			field := k.entry.GetFrom(item)
			if !k.entry.CanOmit(field) {
				field, null := pointed(field)
				if null {
					fields = append(fields, value.Field{Name: k.name, Value: value.NewValueInterface(nil)})
					continue
				}
				fields = append(fields, value.Field{Name: k.name, Value: value.NewValueInterface(w.scalarOf(field))})
			} else if k.standard != nil {
				fields = append(fields, value.Field{Name: k.name, Value: k.standard})
			}
		}
		out[i] = w.keyElement(fields)
	}
	return out
}

// scalarOf is a key's value; some make their JSON themselves.
func (w *walk) scalarOf(v reflect.Value) any {
	if value.TypeReflectEntryOf(v.Type()).CanConvertToUnstructured() {
		return w.plain(v)
	}
	s := scalar(v)
	if s == nil {
		w.fail()
	}
	return s
}

// scalar is a value as JSON has it.
func scalar(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return int64(v.Uint())
	case reflect.Float32, reflect.Float64:
		return v.Float()
	}
	return nil
}

// addTyped enters a value that has no counterpart, and all below it.
func (w *walk) addTyped(s *fieldpath.Set, pe fieldpath.PathElement, v reflect.Value, n *node) {
	s.Members.Insert(pe)
	w.addChildren(s, pe, v, n)
}

// addChildren enters what is below a value.
func (w *walk) addChildren(s *fieldpath.Set, pe fieldpath.PathElement, v reflect.Value, n *node) {
	if n.kind == opaque {
		w.addAny(s, pe, w.plain(v), n.ref)
		return
	}
	v, null := pointed(v)
	if n.kind == unknown {
		w.fail()
	}
	if n.kind == leaf || null {
		return
	}
	switch n.kind {
	case structure:
		var below *fieldpath.Set
		for i := range n.fields {
			f := &n.fields[i]
			if fv, ok := f.there(v, false); ok {
				if below == nil {
					below = s.Children.Descend(pe)
				}
				w.addTyped(below, f.element, fv, f.node)
			}
		}
	case mapping:
		if v.Len() == 0 {
			return
		}
		below := s.Children.Descend(pe)
		for k, e := range entriesOfMap(v) {
			w.addTyped(below, fieldpath.FieldNameElement(k.String()), e, n.elem)
		}
	case list:
		if v.Len() == 0 {
			return
		}
		below := s.Children.Descend(pe)
		elements := w.elements(v, false, n)
		w.addItems(below, elements, func(i int) { w.addChildren(below, elements[i], v.Index(i), n.elem) })
	}
}
