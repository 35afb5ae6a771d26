package check

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// GoNames wraps a value so that an error message shows it with the names of its
// Go fields, every one of them, as kube-apiserver shows objects whose internal
// types carry no JSON names. Types that know their own JSON keep it.
func GoNames(v any) any { return goNames{v} }

type goNames struct{ v any }

// MarshalJSON makes the wrapper show its value.
func (g goNames) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeGoNames(&b, reflect.ValueOf(g.v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeGoNames(b *bytes.Buffer, v reflect.Value) error {
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
		return writeGoNames(b, v.Elem())
	case reflect.Struct:
		if !hasOwnJSON(v.Type()) {
			return writeGoStruct(b, v)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return writeGoSlice(b, v)
		}
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return err
	}
	b.Write(raw)
	return nil
}

// hasOwnJSON tells whether the type is shown by its own MarshalJSON, or is of
// the meta group, whose one form is external.
func hasOwnJSON(t reflect.Type) bool {
	m := reflect.TypeFor[json.Marshaler]()
	if t.Implements(m) || reflect.PointerTo(t).Implements(m) {
		return true
	}
	return t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1"
}

func writeGoStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	if err := writeGoFields(b, v, &first); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

func writeGoFields(b *bytes.Buffer, v reflect.Value, first *bool) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous && v.Field(i).Kind() == reflect.Struct && !hasOwnJSON(f.Type) {
			if err := writeGoFields(b, v.Field(i), first); err != nil {
				return err
			}
			continue
		}
		if !*first {
			b.WriteByte(',')
		}
		*first = false
		b.WriteString(`"` + f.Name + `":`)
		if err := writeGoNames(b, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func writeGoSlice(b *bytes.Buffer, v reflect.Value) error {
	if v.IsNil() {
		b.WriteString("null")
		return nil
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeGoNames(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}
