package required

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// Fields is what a stored message has to hold for it to be what a reader gets, who would fill in defaults
// otherwise. It is found out by looking at what the defaults of a kind fill into an empty object, so that nothing has
// to be declared twice. A message that lacks something is decoded to be read: a wrong no costs time only. What defaults
// make of combinations of values is not seen; it was there in the first releases of the kinds that have such.
type Fields struct {
	// never is true where the message cannot say.
	never bool
	// outside is true where reading fills in what protobuf does not have (the kind of a
	// template), so that only a decoded object shows it.
	outside bool
	// Labels reports whether reading may fill in labels of the object itself.
	Labels bool
	fields []field // by number
	need   uint64  // a bit for each field that has to be there
}

type field struct {
	inner   *Fields
	nonZero bool // a zero counts as absent
}

// Of examines the defaults of a kind, which fill adds to an object. more are the names in JSON, joined with dots, of
// fields that are required beside them. nil, a valid Fields, requires nothing.
func Of[T metav1.Object](empty func() T, fill func(T), more []string) *Fields {
	w := &Fields{}
	if fill != nil {
		types := shapes{}
		// Defaults fill in structs at each depth, in an object in which those above are set, and lists.
		for i, depth := range []int{0, 1, 2, 3, math.MaxInt, 0, math.MaxInt} {
			before, after := empty(), empty()
			for _, obj := range []T{before, after} {
				obj.SetName("a")
				types.populate(reflect.ValueOf(obj).Elem(), depth, i < 5, map[reflect.Type]bool{})
			}
			fill(after)
			w.Labels = w.Labels || len(after.GetLabels()) > 0
			w.compare(types, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
		}
	}
	w.Labels = w.Labels || slices.Contains(more, "metadata.labels")
	for _, path := range more {
		w.require(reflect.TypeFor[T]().Elem(), strings.Split(path, "."))
	}
	if !w.never && !w.outside && w.fields == nil {
		return nil
	}
	return w
}

// shapes are the fields of struct types, each examined once: a pod's types occur in it many times.
type shapes map[reflect.Type][]fieldShape

type fieldShape struct {
	number int          // in protobuf, 0 for none
	inner  reflect.Type // the struct that a field is, points to or lists, nil for other fields
	opaque bool         // inner writes itself, as times and quantities do
}

// of returns the fields of a struct type, none of one that writes itself.
func (s shapes) of(t reflect.Type) []fieldShape {
	fields, known := s[t]
	if known || opaque(t) {
		return fields
	}
	fields = make([]fieldShape, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = fieldShape{number: wire.FieldNumber(f), inner: innerOf(f.Type)}
		fields[i].opaque = fields[i].inner != nil && opaque(fields[i].inner)
	}
	s[t] = fields
	return fields
}

func innerOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		if t = t.Elem(); t.Kind() != reflect.Struct {
			return nil
		}
	}
	return object.StructOf(t)
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// opaque reports whether a type writes itself, as times and quantities do.
func opaque(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler))
}

// populate makes the structs that a struct points to, through as many pointers as depth says, and
// with lists gives each list of structs an element. That element's own pointers are set at least.
func (s shapes) populate(v reflect.Value, depth int, lists bool, within map[reflect.Type]bool) {
	t := v.Type()
	if within[t] {
		return
	}
	within[t] = true
	defer delete(within, t)
	for i, shape := range s.of(t) {
		if shape.inner == nil || shape.opaque {
			continue
		}
		f := v.Field(i)
		switch {
		case f.Kind() == reflect.Struct:
			s.populate(f, depth, lists, within)
		case f.Kind() == reflect.Pointer && depth > 0:
			f.Set(reflect.New(shape.inner))
			s.populate(f.Elem(), depth-1, lists, within)
		case f.Kind() == reflect.Slice && lists:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			// Of an element without any of its pointers, defaults might make another kind of element.
			s.populate(f.Index(0), max(depth, 1), lists, within)
		}
	}
}

// compare notes which fields of a struct were filled in.
func (w *Fields) compare(types shapes, before, after reflect.Value) {
	for i, shape := range types.of(before.Type()) {
		b, a := before.Field(i), after.Field(i)
		if b.IsZero() && a.IsZero() {
			continue
		}
		if inner, other, ok := innerValues(shape, b, a); ok {
			w.compareInner(types, shape, inner, other)
			continue
		}
		switch {
		case reflect.DeepEqual(b.Interface(), a.Interface()):
		case shape.number == 0:
			w.outside = true
		case b.Kind() == reflect.Map || b.Kind() == reflect.Struct || shape.number > 63:
			w.never = true // what is in it does not show whether it is whole
		default:
			w.at(shape.number).nonZero = b.Kind() != reflect.Pointer
			w.need |= 1 << shape.number
		}
	}
}

// innerValues returns the structs in two values of a field, if both have one.
func innerValues(shape fieldShape, before, after reflect.Value) (b, a reflect.Value, ok bool) {
	switch {
	case shape.inner == nil || shape.number == 0:
	case before.Kind() == reflect.Struct:
		return before, after, !shape.opaque
	case before.Kind() == reflect.Pointer:
		return before.Elem(), after.Elem(), !before.IsNil() && !after.IsNil()
	case before.Len() == 1 && after.Len() == 1:
		return before.Index(0), after.Index(0), true
	}
	return b, a, false
}

func (w *Fields) compareInner(types shapes, shape fieldShape, before, after reflect.Value) {
	if shape.opaque {
		return
	}
	var inner Fields
	if shape.number < len(w.fields) && w.fields[shape.number].inner != nil {
		inner = *w.fields[shape.number].inner
	}
	inner.compare(types, before, after)
	w.never = w.never || inner.never
	if inner.fields != nil || inner.outside {
		w.at(shape.number).inner = &inner
	}
}

// require notes a field by its path.
func (w *Fields) require(t reflect.Type, path []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		number := wire.FieldNumber(f)
		if name != path[0] || number == 0 || number > 63 {
			continue
		}
		if len(path) == 1 {
			w.at(number).nonZero = f.Type.Kind() != reflect.Pointer
			w.need |= 1 << number
			return
		}
		if w.at(number).inner == nil {
			w.at(number).inner = &Fields{}
		}
		w.fields[number].inner.require(object.StructOf(f.Type), path[1:])
		return
	}
	w.never = true
}

func (w *Fields) at(number int) *field {
	for number >= len(w.fields) {
		w.fields = append(w.fields, field{})
	}
	return &w.fields[number]
}

// Holds reports whether a message surely lacks nothing, where inside, of what protobuf has.
func (w *Fields) Holds(message []byte, inside bool) bool {
	if w == nil {
		return true
	}
	if w.never || w.outside && !inside {
		return false
	}
	var seen uint64
	for i := 0; i < len(message); {
		f, ok := wire.NextField(message, i)
		if !ok {
			return false
		}
		i = f.End
		if inner := w.Inner(f.Number); inner != nil && !inner.Holds(f.Payload, inside) {
			return false
		}
		if w.Counts(f.Number, f.Zero(message)) {
			seen |= 1 << f.Number
		}
	}
	return seen&w.need == w.need
}

// Satisfied is Holds for a message of which seen has a bit for the number of each field that counts. The messages in it
// are not considered: each must satisfy Inner.
func (w *Fields) Satisfied(seen uint64) bool {
	return w == nil || !w.never && !w.outside && seen&w.need == w.need
}

// Inner returns what the message of a field has to hold.
func (w *Fields) Inner(number uint64) *Fields {
	if w == nil || number >= uint64(len(w.fields)) {
		return nil
	}
	return w.fields[number].inner
}

// Counts reports whether a field that a message has, with a value that may be zero, satisfies what requires it.
func (w *Fields) Counts(number uint64, zero bool) bool {
	return w != nil && number < uint64(len(w.fields)) && (!zero || !w.fields[number].nonZero)
}
