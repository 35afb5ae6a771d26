package managedfields

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// fieldsWriter writes the set of all fields of an object that had no owner before, in the form FieldsV1. The set itself
// is not built. As a walk it gives up where it has no rule.
type fieldsWriter struct {
	walk
	buf []byte
	// names are the sorted keys of the maps that are being written, the innermost last.
	names []string
	// indexes are those of the items of the lists that are being written, by name, the innermost last.
	indexes []int
	// applied is true for a document of server-side apply: what holds other fields is owned through them alone.
	applied bool
}

// place is how a value is owned because of where it is.
type place struct {
	// self is true if the value itself is owned, in addition to what is below it.
	self bool
	// zero is true if the value was there before as the zero value of its Go type.
	zero bool
	// never is true if the value itself is never owned.
	never bool
	// without is true if nothing of the value is owned. It is written all the same, because it may not fit the schema.
	without bool
	// skip has the fields below the value that are never owned.
	skip *fieldpath.Set
}

// below returns the place of a child.
func (p *place) below(pe fieldpath.PathElement) (c place) {
	if p.skip == nil {
		return c
	}
	c.without = p.skip.Members.Has(pe)
	c.skip, _ = p.skip.Children.Get(pe)
	return c
}

// writers has writers that are not in use, with the memory of their buffers.
var writers = sync.Pool{New: func() any { return &fieldsWriter{} }}

// maxWriter is the size of the largest buffer that is kept.
const maxWriter = 64 << 10

// owned returns the set of the fields of a new object, nil if it has none. ok is false if the writer gave up. skip has
// the fields that are never owned. An applied object is a document.
func (r *root) owned(obj runtime.Object, skip *fieldpath.Set, applied bool) (set *metav1.FieldsV1, ok bool) {
	w := writers.Get().(*fieldsWriter)
	w.walk, w.applied = walk{schema: r.empty.Schema(), unique: applied}, applied
	w.buf, w.names, w.indexes = append(w.buf[:0], '{'), w.names[:0], w.indexes[:0]
	defer func() {
		if e := recover(); e != nil {
			if _, mine := e.(giveUp); !mine {
				panic(e)
			}
			set, ok = nil, false
		}
		clear(w.names[:cap(w.names)])
		if w.walk = (walk{}); cap(w.buf) <= maxWriter {
			writers.Put(w)
		}
	}()
	switch plan, planned := r.comparer.(byPlan); {
	case planned && !applied:
		w.fields(reflect.ValueOf(obj).Elem(), plan.plan, place{zero: true, skip: skip})
	default:
		tree, is := obj.(*unstructured.Unstructured)
		if !is {
			w.fail()
		}
		w.object(tree.Object, r.empty.TypeRef(), skip)
	}
	if len(w.buf) == 1 {
		return nil, true
	}
	set = &metav1.FieldsV1{}
	set.SetRawBytes(append(w.buf, '}')) // copies them
	return set, true
}

// open begins a child of a value with the place p, before the child's name, and returns where.
func (w *fieldsWriter) open(p *place) int {
	at := len(w.buf)
	if w.buf[at-1] != '{' {
		w.buf = append(w.buf, ',')
	} else if p.self && !p.never {
		w.buf = append(w.buf, `".":{},`...)
	}
	return at
}

// close ends the child with the place c, which open began. It removes a child of which nothing is owned.
func (w *fieldsWriter) close(at int, c *place) {
	if c.without || w.buf[len(w.buf)-1] == '{' && (!c.self || c.never) {
		w.buf = w.buf[:at]
		return
	}
	w.buf = append(w.buf, '}')
}

// name begins the set of a named field.
func (w *fieldsWriter) name(s string) {
	w.buf = append(w.buf, `"f:`...)
	w.plainText(s)
	w.buf = append(w.buf, `":{`...)
}

// plainText appends a text that JSON does not escape. It gives up on others.
func (w *fieldsWriter) plainText(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			w.fail()
		}
	}
	w.buf = append(w.buf, s...)
}

// item begins the set of an item of a list.
func (w *fieldsWriter) item(pe fieldpath.PathElement) {
	if pe.Value != nil {
		w.buf = append(w.buf, `"v:`...)
		w.scalar(*pe.Value)
		w.buf = append(w.buf, `":{`...)
		return
	}
	w.buf = append(w.buf, `"k:{`...)
	for i, f := range *pe.Key {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, `\"`...)
		w.plainText(f.Name)
		w.buf = append(w.buf, `\":`...)
		w.scalar(f.Value)
	}
	w.buf = append(w.buf, `}":{`...)
}

// scalar appends the JSON of a value, within a text.
func (w *fieldsWriter) scalar(v value.Value) {
	switch {
	case v.IsString():
		w.buf = append(w.buf, `\"`...)
		w.plainText(v.AsString())
		w.buf = append(w.buf, `\"`...)
	case v.IsInt():
		w.buf = strconv.AppendInt(w.buf, v.AsInt(), 10)
	case v.IsBool():
		w.buf = strconv.AppendBool(w.buf, v.AsBool())
	default:
		w.fail()
	}
}

// fields writes the fields of a struct with the place p.
func (w *fieldsWriter) fields(v reflect.Value, n *node, p place) {
	for i := range n.fields {
		f := &n.fields[i]
		fv, ok := f.there(v, false)
		if !ok {
			continue
		}
		c := p.below(f.element)
		if c.without && f.node.safe {
			continue
		}
		c.zero, c.self = p.zero && f.always, true
		at := w.open(&p)
		w.buf = append(w.buf, f.key...)
		w.typed(fv, f.node, &c)
		w.close(at, &c)
	}
}

// typed writes what is below a value of a Go type, and notes in its place whether itself is owned.
func (w *fieldsWriter) typed(v reflect.Value, n *node, c *place) {
	if n.kind == opaque {
		w.opaque(v, n, c)
		return
	}
	pointer := v.Kind() == reflect.Pointer
	v, null := pointed(v)
	if c.zero {
		c.self = w.differs(v, null, pointer, n)
	}
	if null {
		return
	}
	switch n.kind {
	case leaf:
	case structure:
		c.zero = c.zero && !pointer
		w.fields(v, n, *c)
	case mapping:
		w.entries(v, n, c)
	case list:
		if n.name >= 0 && c.skip == nil && w.named(v, n, c) {
			return
		}
		items := w.elements(v, false, n)
		w.items(items, c, func(i int, c *place) { w.typed(v.Index(i), n.elem, c) })
	default:
		w.fail()
	}
}

// differs reports whether a value itself is new, where the zero value of its type was before.
func (w *fieldsWriter) differs(v reflect.Value, null, pointer bool, n *node) bool {
	switch n.kind {
	case leaf:
		if pointer || v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
			return !null
		}
		return !equal(reflect.Zero(v.Type()), v)
	case structure:
		return pointer && !null && !slices.ContainsFunc(n.fields, func(f planField) bool {
			_, there := f.there(v, false)
			return there
		})
	case mapping, list:
		return !null && v.Len() == 0
	}
	return false
}

// opaque writes what is below a value that makes its JSON itself.
func (w *fieldsWriter) opaque(v reflect.Value, n *node, c *place) {
	if n.scalar && !c.zero {
		return
	}
	u := w.plain(v)
	if !c.zero {
		w.tree(u, n.ref, c)
		return
	}
	switch before := w.plain(reflect.Zero(v.Type())).(type) {
	case nil:
		if c.self = u != nil; !c.self {
			return
		}
		if m, ok := u.(map[string]any); ok && len(m) > 0 && w.atom(u, n.ref).Map.ElementRelationship != schema.Atomic {
			c.self = false
		}
		w.tree(u, n.ref, c)
	case map[string]any, []any:
		w.fail()
	default:
		w.tree(u, n.ref, c)
		c.self = !equalAny(before, u)
	}
}

// entries writes the entries of a map with texts as keys.
func (w *fieldsWriter) entries(m reflect.Value, n *node, p *place) {
	start := len(w.names)
	if texts, ok := m.Interface().(map[string]string); ok {
		for k := range texts {
			w.names = append(w.names, k)
		}
	} else {
		for keys := m.MapRange(); keys.Next(); {
			w.names = append(w.names, keys.Key().String())
		}
	}
	w.each(start, p, func(name string, c *place) {
		if c.self = true; n.elem.kind != leaf && !n.elem.scalar {
			w.typed(m.MapIndex(reflect.ValueOf(name).Convert(m.Type().Key())), n.elem, c)
		}
	})
}

// each writes the children with the names since start, which it removes, in the order of sets.
func (w *fieldsWriter) each(start int, p *place, write func(name string, c *place)) {
	slices.Sort(w.names[start:])
	for i := start; i < len(w.names); i++ {
		name := w.names[i]
		var c place
		if p.skip != nil { // then there are few names
			c = p.below(fieldpath.FieldNameElement(name))
		}
		at := w.open(p)
		w.name(name)
		write(name, &c)
		w.close(at, &c)
	}
	w.names = w.names[:start]
}

// items writes the items of a list in the order of sets.
func (w *fieldsWriter) items(items []fieldpath.PathElement, p *place, write func(i int, c *place)) {
	o := w.sorted(items)
	for k := range items {
		i := o.at(k)
		c := p.below(items[i])
		c.self = true
		at := w.open(p)
		w.item(items[i])
		write(i, &c)
		w.close(at, &c)
	}
}

// named writes the items of a list that are identified by a text. It returns false, and has written nothing, if one has
// none.
func (w *fieldsWriter) named(list reflect.Value, n *node, p *place) bool {
	start := len(w.indexes)
	name := func(i int) string { return list.Index(i).Field(n.name).String() }
	for i := range list.Len() {
		w.indexes = append(w.indexes, i)
		if name(i) == "" {
			w.indexes = w.indexes[:start]
			return false
		}
	}
	slices.SortFunc(w.indexes[start:], func(i, j int) int { return strings.Compare(name(i), name(j)) })
	for k := start; k < start+list.Len(); k++ {
		i := w.indexes[k]
		if k > start && name(w.indexes[k-1]) == name(i) {
			w.fail()
		}
		c := place{self: true}
		at := w.open(p)
		w.buf = append(append(append(w.buf, `"k:{\"`...), n.keys[0].name...), `\":\"`...)
		w.plainText(name(i))
		w.buf = append(w.buf, `\"}":{`...)
		w.typed(list.Index(i), n.elem, &c)
		w.close(at, &c)
	}
	w.indexes = w.indexes[:start]
	return true
}

// sorted returns the order of items in sets. It gives up where an identity is there twice.
func (w *fieldsWriter) sorted(items []fieldpath.PathElement) order {
	compare := func(a, b fieldpath.PathElement) int {
		c := a.Compare(b)
		if c == 0 {
			w.fail()
		}
		return c
	}
	if slices.IsSortedFunc(items, compare) {
		return nil
	}
	o := make(order, len(items))
	for i := range o {
		o[i] = i
	}
	slices.SortFunc(o, func(i, j int) int {
		if i == j {
			return 0
		}
		return compare(items[i], items[j])
	})
	return o
}

// object writes the fields of a whole object that is a tree.
func (w *fieldsWriter) object(obj map[string]any, ref schema.TypeRef, skip *fieldpath.Set) {
	a := w.atom(obj, ref)
	if a.Map.ElementRelationship == schema.Atomic {
		w.fail()
	}
	w.names = slices.AppendSeq(w.names, maps.Keys(obj))
	w.each(0, &place{skip: skip}, func(name string, c *place) {
		c.never = name == "metadata"
		w.treeField(obj[name], a.Map, name, c)
	})
}

// treeField writes what is below a field of a map.
func (w *fieldsWriter) treeField(v any, m *schema.Map, name string, c *place) {
	f, declared := m.FindField(name)
	c.self = !w.applied || !declared
	if declared {
		w.tree(v, f.Type, c)
		return
	}
	w.tree(v, w.fieldRef(m, name), c)
}

// tree writes what is below a value of a tree, and notes in its place if it is owned as a whole.
func (w *fieldsWriter) tree(v any, ref schema.TypeRef, c *place) {
	a := w.atom(v, ref)
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || a.Map.ElementRelationship == schema.Atomic {
			w.check(v, ref)
			c.self = true
			return
		}
		start := len(w.names)
		w.names = slices.AppendSeq(w.names, maps.Keys(v))
		w.each(start, c, func(name string, c *place) { w.treeField(v[name], a.Map, name, c) })
	case []any:
		if a.List.ElementRelationship != schema.Associative {
			w.check(v, ref)
			c.self = true
			return
		}
		w.items(w.identities(v, a.List), c, func(i int, c *place) { w.tree(v[i], a.List.ElementType, c) })
	case nil:
		c.self = true
	default:
		w.fits(v, *a.Scalar)
		c.self = true
	}
}
