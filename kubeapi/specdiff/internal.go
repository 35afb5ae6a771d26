package specdiff

import (
	"bytes"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/util/diff"
)

// Of returns what differs between two values, as an error message shows it.
func Of(old, now any) string { return diff.Diff(internal{old}, internal{now}) }

// internal is shown with the names of its Go fields, every one of them. Types
// that know their own JSON keep it.
type internal struct{ v any }

// MarshalJSON implements json.Marshaler.
func (g internal) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeValue(&b, reflect.ValueOf(g.v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeValue(b *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		b.WriteString("null")
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		return writeValue(b, v.Elem())
	case reflect.Struct:
		if !hasOwnJSON(v.Type()) {
			return writeStruct(b, v)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return writeSlice(b, v)
		}
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return err
	}
	b.Write(raw)
	return nil
}

// hasOwnJSON reports whether the type is shown by its own MarshalJSON, or is of
// the meta group, whose one form is external.
func hasOwnJSON(t reflect.Type) bool {
	m := reflect.TypeFor[json.Marshaler]()
	if t.Implements(m) || reflect.PointerTo(t).Implements(m) {
		return true
	}
	return t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1"
}

func writeStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	if err := writeFields(b, v, &first); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

func writeFields(b *bytes.Buffer, v reflect.Value, first *bool) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous && v.Field(i).Kind() == reflect.Struct {
			if err := writeEmbedded(b, v.Field(i), first); err != nil {
				return err
			}
			continue
		}
		if err := writeField(b, f.Name, v.Field(i), first); err != nil {
			return err
		}
	}
	return nil
}

// writeEmbedded writes the fields of an embedded struct among its owner's.
func writeEmbedded(b *bytes.Buffer, v reflect.Value, first *bool) error {
	if !hasOwnJSON(v.Type()) {
		return writeFields(b, v, first)
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return err
	}
	if raw = bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte("{")), []byte("}")); len(raw) > 0 {
		separate(b, first)
		b.Write(raw)
	}
	return nil
}

func writeField(b *bytes.Buffer, name string, v reflect.Value, first *bool) error {
	separate(b, first)
	b.WriteString(`"` + name + `":`)
	return writeValue(b, v)
}

func separate(b *bytes.Buffer, first *bool) {
	if !*first {
		b.WriteByte(',')
	}
	*first = false
}

func writeSlice(b *bytes.Buffer, v reflect.Value) error {
	if v.IsNil() {
		b.WriteString("null")
		return nil
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeValue(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}
