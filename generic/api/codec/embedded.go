package codec

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldSet is JSON that the field manager checks by itself.
var fieldSet = reflect.TypeFor[metav1.FieldsV1]()

var jsonMarshaler = reflect.TypeFor[json.Marshaler]()

// embedsJSON reports whether values of a Go type may hold JSON in a field Raw, as
// runtime.RawExtension does. Protobuf brings such bytes unchecked.
func embedsJSON(t reflect.Type) bool {
	return holds(t, func(t reflect.Type) bool {
		if t.Kind() != reflect.Struct {
			return false
		}
		raw, ok := t.FieldByName("Raw")
		return ok && raw.Type == reflect.TypeFor[[]byte]() && reflect.PointerTo(t).Implements(jsonMarshaler)
	})
}

// hasQuantities reports whether values of a Go type may hold quantities.
func hasQuantities(t reflect.Type) bool {
	return holds(t, func(t reflect.Type) bool { return t == quantityType })
}

// holds reports whether values of a Go type may hold values of a type that is looked for.
func holds(t reflect.Type, wanted func(reflect.Type) bool) bool {
	return typeSearch{wanted, map[reflect.Type]bool{}}.within(t)
}

type typeSearch struct {
	wanted func(reflect.Type) bool
	seen   map[reflect.Type]bool
}

func (s typeSearch) within(t reflect.Type) bool {
	if s.seen[t] || t == fieldSet {
		return false
	}
	s.seen[t] = true
	if s.wanted(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return s.within(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && s.within(f.Type) {
				return true
			}
		}
	}
	return false
}
