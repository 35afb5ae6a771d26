package codec

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// shape is how readJSON reads values of a Go type.
type shape struct {
	kind reflect.Kind // Invalid if only the library can read them
	// custom is set for types whose pointers implement json.Unmarshaler.
	custom bool
	elem   *shape // of pointers, slices and maps
	// fields and byName are those of structs, with the fields of embedded structs.
	fields []shapeField
	byName map[string]int
}

type shapeField struct {
	name  string
	index []int
	shape *shape
}

// of returns the field of a struct.
func (f *shapeField) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}

// maxFields is the number of fields whose presence a reader can remember.
const maxFields = 64

// shapes are those of all types that have been read. They depend on nothing but the types.
var shapes = struct {
	sync.Mutex
	of map[reflect.Type]*shape
}{of: map[reflect.Type]*shape{}}

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	shapes.Lock()
	defer shapes.Unlock()
	return findShape(t)
}

func findShape(t reflect.Type) *shape {
	if s, known := shapes.of[t]; known {
		return s
	}
	s := &shape{}
	shapes.of[t] = s // before its parts, which may be of the type
	pointer := reflect.PointerTo(t)
	switch {
	case t.Kind() != reflect.Pointer && pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		s.custom, s.kind = true, t.Kind()
		return s
	case t.Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() != reflect.Pointer,
		readsText(t):
		return s
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.kind = t.Kind()
	case reflect.Pointer, reflect.Slice:
		s.kind, s.elem = t.Kind(), findShape(t.Elem())
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !readsText(t.Key()) {
			s.kind, s.elem = t.Kind(), findShape(t.Elem())
		}
	case reflect.Struct:
		s.byName = map[string]int{}
		if s.addFields(t, nil) && len(s.fields) <= maxFields {
			s.kind = t.Kind()
		}
	}
	return s
}

// readsText reports whether values of a type read themselves from text.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// addFields adds the fields of a struct. It reports false if the library's rules for their names are needed.
func (s *shape) addFields(t reflect.Type, outer []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(outer[:len(outer):len(outer)], i)
		switch {
		case name == "-" && options == "":
			continue
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			if !s.addFields(f.Type, index) {
				return false
			}
			continue
		case name == "" || !f.IsExported() || strings.Contains(options, "string"):
			return false
		}
		if _, ambiguous := s.byName[name]; ambiguous {
			return false
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, shapeField{name, index, findShape(f.Type)})
	}
	return true
}
