package kind

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// OnRead completes objects that earlier releases stored, beyond the defaults.
type OnRead[T Object] struct {
	// Complete fills in what is missing.
	Complete func(T)
	// Fields are those that an object which lacks nothing has, as names in JSON
	// joined with dots. With none of them every object is decoded to be read.
	Fields []string
}

// requiredFields is what a stored message has to hold for it to be what a reader gets, who would fill in defaults
// otherwise. It is found out by looking at what the defaults of a kind fill into an empty object, so that nothing has
// to be declared twice. A message that lacks something is decoded to be read: a wrong no costs time only. What defaults
// make of combinations of values is not seen; it was there in the first releases of the kinds that have such.
type requiredFields struct {
	// never is true where the message cannot say.
	never bool
	// outside is true where reading fills in what protobuf does not have (the kind of a
	// template), so that only a decoded object shows it.
	outside bool
	labels  bool            // reading may fill in labels of the object itself
	fields  []requiredField // by number
	need    uint64          // a bit for each field that has to be there
}

type requiredField struct {
	inner   *requiredFields
	nonZero bool // a zero counts as absent
}

// requiredFieldsOf examines the defaults of a kind. nil needs nothing.
func requiredFieldsOf[T Object](empty func() T, fill func(T), onRead OnRead[T]) *requiredFields {
	w := &requiredFields{never: onRead.Complete != nil && len(onRead.Fields) == 0}
	if fill != nil {
		// Defaults fill in structs at each depth, in an object in which those above are set, and lists.
		for i, depth := range []int{0, 1, 2, 3, math.MaxInt, 0, math.MaxInt} {
			before, after := empty(), empty()
			for _, obj := range []T{before, after} {
				obj.SetName("a")
				populate(reflect.ValueOf(obj).Elem(), depth, i < 5, map[reflect.Type]bool{})
			}
			fill(after)
			w.labels = w.labels || len(after.GetLabels()) > 0
			w.compare(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
		}
	}
	w.labels = w.labels || slices.Contains(onRead.Fields, "metadata.labels")
	for _, path := range onRead.Fields {
		w.require(reflect.TypeFor[T]().Elem(), strings.Split(path, "."))
	}
	if !w.never && !w.outside && w.fields == nil {
		return nil
	}
	return w
}

// populate makes the structs that a struct points to, through as many pointers as depth says, and
// with lists gives each list of structs an element. That element's own pointers are set at least.
func populate(v reflect.Value, depth int, lists bool, within map[reflect.Type]bool) {
	t := v.Type()
	if within[t] || opaque(t) {
		return
	}
	within[t] = true
	defer delete(within, t)
	for i := range t.NumField() {
		f := v.Field(i)
		inner := object.StructOf(f.Type())
		switch {
		case f.Kind() == reflect.Struct:
			populate(f, depth, lists, within)
		case f.Kind() == reflect.Pointer && inner != nil && depth > 0 && !opaque(inner):
			f.Set(reflect.New(inner))
			populate(f.Elem(), depth-1, lists, within)
		case lists && f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct && !opaque(f.Type().Elem()):
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			// Of an element without any of its pointers, defaults might make another kind of element.
			populate(f.Index(0), max(depth, 1), lists, within)
		}
	}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// opaque reports whether a type writes itself, as times and quantities do.
func opaque(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler))
}

// compare notes which fields of a struct were filled in.
func (w *requiredFields) compare(before, after reflect.Value) {
	for i := range before.NumField() {
		number := wire.FieldNumber(before.Type().Field(i))
		b, a := before.Field(i), after.Field(i)
		switch {
		case number == 0:
			w.outside = w.outside || !reflect.DeepEqual(b.Interface(), a.Interface())
		case b.Kind() == reflect.Pointer && !b.IsNil() && !a.IsNil() && object.StructOf(b.Type()) != nil:
			w.compareInner(number, b.Elem(), a.Elem())
		case b.Kind() == reflect.Slice && b.Len() == 1 && a.Len() == 1 && b.Type().Elem().Kind() == reflect.Struct:
			w.compareInner(number, b.Index(0), a.Index(0))
		case b.Kind() == reflect.Struct && !opaque(b.Type()):
			w.compareInner(number, b, a)
		case reflect.DeepEqual(b.Interface(), a.Interface()):
		case b.Kind() == reflect.Map || opaque(b.Type()) || number > 63:
			w.never = true // what is in it does not show whether it is whole
		default:
			w.field(number).nonZero = b.Kind() != reflect.Pointer
			w.need |= 1 << number
		}
	}
}

func (w *requiredFields) compareInner(number int, before, after reflect.Value) {
	if opaque(before.Type()) {
		return
	}
	var inner requiredFields
	if number < len(w.fields) && w.fields[number].inner != nil {
		inner = *w.fields[number].inner
	}
	inner.compare(before, after)
	w.never = w.never || inner.never
	if inner.fields != nil || inner.outside {
		w.field(number).inner = &inner
	}
}

// require notes a field by its path.
func (w *requiredFields) require(t reflect.Type, path []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		number := wire.FieldNumber(f)
		if name != path[0] || number == 0 || number > 63 {
			continue
		}
		if len(path) == 1 {
			w.field(number).nonZero = f.Type.Kind() != reflect.Pointer
			w.need |= 1 << number
			return
		}
		if w.field(number).inner == nil {
			w.field(number).inner = &requiredFields{}
		}
		w.fields[number].inner.require(object.StructOf(f.Type), path[1:])
		return
	}
	w.never = true
}

func (w *requiredFields) field(number int) *requiredField {
	for number >= len(w.fields) {
		w.fields = append(w.fields, requiredField{})
	}
	return &w.fields[number]
}

// holds reports whether a message surely lacks nothing, where inside, of what protobuf has.
func (w *requiredFields) holds(message []byte, inside bool) bool {
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
		if f.Number >= uint64(len(w.fields)) {
			continue
		}
		want := &w.fields[f.Number]
		if want.inner != nil && !want.inner.holds(f.Payload, inside) {
			return false
		}
		if !want.nonZero || !f.Zero(message) {
			seen |= 1 << f.Number
		}
	}
	return seen&w.need == w.need
}
