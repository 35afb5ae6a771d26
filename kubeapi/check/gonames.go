package check

import (
	"bytes"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
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
	if names, ok := internalOrder[v.Type()]; ok {
		for _, name := range names {
			if err := writeGoField(b, name, v.FieldByName(name), v, first); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous && v.Field(i).Kind() == reflect.Struct {
			if err := writeGoEmbedded(b, v.Field(i), first); err != nil {
				return err
			}
			continue
		}
		if err := writeGoField(b, f.Name, v.Field(i), v, first); err != nil {
			return err
		}
	}
	return nil
}

// writeGoEmbedded writes the fields of an embedded struct among its owner's.
func writeGoEmbedded(b *bytes.Buffer, v reflect.Value, first *bool) error {
	if !hasOwnJSON(v.Type()) {
		return writeGoFields(b, v, first)
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

func writeGoField(b *bytes.Buffer, name string, v, owner reflect.Value, first *bool) error {
	separate(b, first)
	b.WriteString(`"` + name + `":`)
	if spec, ok := owner.Interface().(corev1.PodSpec); ok && name == "SecurityContext" && spec.SecurityContext != nil {
		return writePodSecurity(b, &spec)
	}
	return writeGoNames(b, v)
}

// writePodSecurity writes the security context of a pod with what internally
// belongs to it: the use of the host's namespaces.
func writePodSecurity(b *bytes.Buffer, s *corev1.PodSpec) error {
	b.WriteByte('{')
	first := true
	for _, f := range []struct {
		name  string
		value any
	}{
		{"HostNetwork", s.HostNetwork}, {"HostPID", s.HostPID}, {"HostIPC", s.HostIPC},
		{"ShareProcessNamespace", s.ShareProcessNamespace}, {"HostUsers", s.HostUsers},
	} {
		separate(b, &first)
		b.WriteString(`"` + f.name + `":`)
		if err := writeGoNames(b, reflect.ValueOf(f.value)); err != nil {
			return err
		}
	}
	if err := writeGoFields(b, reflect.ValueOf(*s.SecurityContext), &first); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

func separate(b *bytes.Buffer, first *bool) {
	if !*first {
		b.WriteByte(',')
	}
	*first = false
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
