package managedfields

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// nodeKind is how the values of a node are walked.
type nodeKind int

const (
	// unknown values make the walk give up: they do not fit the schema, or may
	// not.
	unknown nodeKind = iota
	// leaf values are owned as a whole.
	leaf
	// opaque values are compared in their JSON form, which they make themselves.
	opaque
	structure
	mapping
	// list has items with identities.
	list
)

// node is how to walk values of a Go type that have a type of the schema.
type node struct {
	kind   nodeKind
	ref    schema.TypeRef
	fields []planField // of a structure
	elem   *node       // of a mapping or list
	keys   []planKeyField
	// name is the place of the text that alone identifies an item, in its struct; -1 of other lists.
	name int
	// safe is true where no value of the Go type can fail to fit the schema.
	safe bool
	// scalar is true of opaque values that always are null or a scalar of the schema's type.
	scalar bool
}

// planField is a field of a Go struct as JSON shows it.
type planField struct {
	element fieldpath.PathElement
	entry   *value.FieldCacheEntry
	node    *node
	key     string // begins the field in an encoded set
	always  bool   // JSON shows it, even with the zero value
	// index is the place of the field in the struct, -1 if only the library knows it or whether JSON shows it.
	index int
}

// planKeyField is a field that is part of the identity of list items.
type planKeyField struct {
	name     string
	entry    *value.FieldCacheEntry
	standard value.Value // where the field is left out; may be nil
}

type planKey struct {
	goType reflect.Type
	name   string
}

// Planned is a type converter with the plans of its kinds, which all their managers share, those of other servers, too.
// It is safe for concurrent use.
type Planned struct {
	library.TypeConverter
	mu    sync.Mutex
	plans map[typeOf]*node
}

type typeOf struct {
	goType reflect.Type
	schema *schema.Schema
}

// NewPlanned returns a type converter with plans.
func NewPlanned(types library.TypeConverter) *Planned {
	return &Planned{TypeConverter: types, plans: map[typeOf]*node{}}
}

// plan returns the plan of a Go type. empty is a value of it, with its schema.
func (p *Planned) plan(t reflect.Type, empty *typed.TypedValue) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := typeOf{t, empty.Schema()}
	n := p.plans[key]
	if n == nil {
		n = planOf(t, empty)
		p.plans[key] = n
	}
	return n
}

// planOf makes the plan of a Go type. empty is a value of it, with its schema.
func planOf(t reflect.Type, empty *typed.TypedValue) *node {
	p := planner{schema: empty.Schema(), nodes: map[planKey]*node{}}
	return p.plan(t, empty.TypeRef())
}

// planner makes nodes, one for each Go type and type of the schema.
type planner struct {
	schema *schema.Schema
	nodes  map[planKey]*node
}

// plan returns the node of a Go type. A node that refers to itself is safe only
// if the rest of it is.
func (p *planner) plan(t reflect.Type, ref schema.TypeRef) *node {
	var key planKey
	if ref.NamedType != nil && ref.ElementRelationship == nil {
		key = planKey{t, *ref.NamedType}
		if n := p.nodes[key]; n != nil {
			return n
		}
	}
	n := &node{ref: ref, name: -1}
	if key.goType != nil {
		p.nodes[key] = n
	}
	atom, ok := p.schema.Resolve(ref)
	if !ok {
		return n
	}
	if value.TypeReflectEntryOf(t).CanConvertToUnstructured() {
		n.kind = opaque
		n.scalar = atom.Scalar != nil && plainOpaque(t, *atom.Scalar)
		n.safe = n.scalar || fitsAnything(atom)
		return n
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		// A type whose pointer makes its JSON is opaque as a pointer, too.
	}
	p.fill(n, t, atom)
	return n
}

// fitsAnything reports the types of any JSON value, which is owned as a whole.
func fitsAnything(a schema.Atom) bool {
	untyped := func(ref schema.TypeRef) bool {
		return ref.NamedType != nil && (*ref.NamedType == "__untyped_atomic_" || *ref.NamedType == "__untyped_deduced_")
	}
	return a.Scalar != nil && *a.Scalar == schema.Untyped &&
		a.List != nil && a.List.ElementRelationship == schema.Atomic && untyped(a.List.ElementType) &&
		a.Map != nil && len(a.Map.Fields) == 0 && untyped(a.Map.ElementType)
}

// plainOpaque reports the types whose JSON always is null or a scalar of the
// schema's type.
func plainOpaque(t reflect.Type, s schema.Scalar) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[resource.Quantity]():
		return s == schema.String || s == schema.Untyped
	case reflect.TypeFor[intstr.IntOrString]():
		return s == schema.Untyped
	}
	return false
}

// fill completes the node of a type that is no pointer and makes no JSON itself.
func (p *planner) fill(n *node, t reflect.Type, atom schema.Atom) {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		if scalarFits(t.Kind(), atom) {
			n.kind, n.safe = leaf, true
		}
	case reflect.Struct:
		if atom.Map != nil && atom.Scalar == nil && atom.List == nil {
			p.fillStruct(n, t, atom.Map)
		}
	case reflect.Map:
		if atom.Map != nil && atom.Scalar == nil && atom.List == nil && t.Key().Kind() == reflect.String {
			p.fillMap(n, t, atom.Map)
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			if scalarFits(reflect.String, atom) {
				n.kind, n.safe = leaf, true
			}
			return
		}
		if atom.List != nil && atom.Scalar == nil && atom.Map == nil {
			p.fillList(n, t, atom.List)
		}
	}
}

func scalarFits(k reflect.Kind, atom schema.Atom) bool {
	if atom.Scalar == nil || atom.Map != nil || atom.List != nil {
		return false
	}
	switch *atom.Scalar {
	case schema.Untyped:
		return true
	case schema.String:
		return k == reflect.String
	case schema.Boolean:
		return k == reflect.Bool
	case schema.Numeric:
		return k != reflect.String && k != reflect.Bool
	}
	return false
}

func (p *planner) fillStruct(n *node, t reflect.Type, m *schema.Map) {
	n.kind, n.safe = structure, true
	for _, entry := range value.TypeReflectEntryOf(t).OrderedFields() {
		f := planField{element: fieldpath.FieldNameElement(entry.JsonName), entry: entry, node: &node{},
			key: `"f:` + entry.JsonName + `":{`, index: indexOf(t, entry.JsonName)}
		ref := m.ElementType
		sf, ok := m.FindField(entry.JsonName)
		if ok {
			ref = sf.Type
		}
		zero := entry.GetFrom(reflect.New(t).Elem())
		f.always = !entry.CanOmit(zero)
		if zero.IsValid() && (ok || ref != (schema.TypeRef{})) {
			f.node = p.plan(zero.Type(), ref)
		}
		n.safe = n.safe && f.node.safe
		n.fields = append(n.fields, f)
	}
	slices.SortFunc(n.fields, func(a, b planField) int { return cmp.Compare(a.entry.JsonName, b.entry.JsonName) })
	if m.ElementRelationship == schema.Atomic {
		n.whole()
	}
}

// indexOf returns the place of the struct's own field with a name in JSON, -1 if it has none, or one with a rule of its
// own for when it is left out.
func indexOf(t reflect.Type, name string) int {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != name || f.Anonymous {
			continue
		}
		if strings.Contains(options, "omitzero") || strings.Contains(options, "inline") {
			return -1
		}
		return i
	}
	return -1
}

func (p *planner) fillMap(n *node, t reflect.Type, m *schema.Map) {
	if len(m.Fields) > 0 || m.ElementType == (schema.TypeRef{}) {
		return
	}
	n.kind = mapping
	n.elem = p.plan(t.Elem(), m.ElementType)
	n.safe = n.elem.safe
	if m.ElementRelationship == schema.Atomic {
		n.whole()
	}
}

func (p *planner) fillList(n *node, t reflect.Type, l *schema.List) {
	n.kind = list
	n.elem = p.plan(t.Elem(), l.ElementType)
	n.safe = n.elem.safe
	switch {
	case l.ElementRelationship != schema.Associative:
		n.whole()
	case len(l.Keys) == 0:
		// A set: of strings or numbers, which identify themselves.
		n.safe = n.safe && n.elem.kind == leaf && t.Elem().Kind() != reflect.Slice && t.Elem().Kind() != reflect.Pointer
		if !n.safe || n.elem.fields != nil || n.elem.elem != nil {
			n.kind = unknown
		}
	default:
		p.fillKeys(n, t.Elem(), l)
	}
}

// whole makes a node one whose values are owned as a whole. Unless they surely
// fit the schema, the library has to look at them.
func (n *node) whole() {
	n.kind = leaf
	if !n.safe {
		n.kind = unknown
	}
}

// fillKeys finds the fields that identify items. An item that has none of them
// fits no schema: where that can be, the list is not safe, which the walk finds
// out item by item.
func (p *planner) fillKeys(n *node, t reflect.Type, l *schema.List) {
	item, ok := p.schema.Resolve(l.ElementType)
	if !ok || item.Map == nil || t.Kind() != reflect.Struct || n.elem.kind == opaque || n.elem.kind == unknown {
		n.kind = unknown
		return
	}
	entries := value.TypeReflectEntryOf(t).Fields()
	always := false
	for _, name := range l.Keys {
		entry := entries[name]
		if entry == nil {
			n.kind = unknown
			return
		}
		k := planKeyField{name: name, entry: entry}
		if sf, ok := item.Map.FindField(name); ok && sf.Default != nil {
			k.standard = value.NewValueInterface(sf.Default)
			always = true
		}
		zero := entry.GetFrom(reflect.New(t).Elem())
		always = always || !entry.CanOmit(zero)
		n.keys = append(n.keys, k)
	}
	n.safe = n.safe && always
	if len(n.keys) == 1 {
		if i := indexOf(t, l.Keys[0]); i >= 0 && t.Field(i).Type.Kind() == reflect.String {
			n.name = i
		}
	}
}
