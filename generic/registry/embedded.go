package registry

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldSet is JSON that the field manager checks by itself.
var fieldSet = reflect.TypeFor[metav1.FieldsV1]()

// embedsJSON reports whether values of a Go type may hold JSON in a field Raw, as
// runtime.RawExtension does. Protobuf brings such bytes unchecked.
func embedsJSON(t reflect.Type) bool { return rawSearch{}.within(t) }

// rawSearch are the types that were looked at.
type rawSearch map[reflect.Type]bool

func (seen rawSearch) within(t reflect.Type) bool {
	if seen[t] || t == fieldSet {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return seen.within(t.Elem())
	case reflect.Struct:
		raw, ok := t.FieldByName("Raw")
		if ok && raw.Type == reflect.TypeFor[[]byte]() && reflect.PointerTo(t).Implements(marshaler) {
			return true
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && seen.within(f.Type) {
				return true
			}
		}
	}
	return false
}
