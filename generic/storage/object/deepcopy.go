package object

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

// DeepCopy returns a deep copy. It is for types without a generated method. Unexported fields are copied by
// assignment.
func DeepCopy[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	deepen(reflect.ValueOf(&out).Elem())
	return &out
}

// deepen replaces all references in a value that was assigned from another by copies.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		deepenStruct(v)
	case reflect.Pointer:
		if !v.IsNil() {
			v.Set(copied(v.Elem()).Addr())
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(copied(v.Elem()))
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(out, v)
		v.Set(out)
		deepenItems(out)
	case reflect.Array:
		deepenItems(v)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for i := v.MapRange(); i.Next(); {
			out.SetMapIndex(i.Key(), copied(i.Value()))
		}
		v.Set(out)
	}
}

func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	deepen(out)
	return out
}

func deepenItems(v reflect.Value) {
	if plain(v.Type().Elem().Kind()) {
		return
	}
	for i := range v.Len() {
		deepen(v.Index(i))
	}
}

func deepenStruct(v reflect.Value) {
	if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
		*q = q.DeepCopy()
		return
	}
	for i := range v.NumField() {
		if f := v.Field(i); f.CanSet() && !plain(f.Kind()) {
			deepen(f)
		}
	}
}

// plain reports whether values of a kind contain no references to mutable memory.
func plain(k reflect.Kind) bool {
	return k <= reflect.Complex128 || k == reflect.String
}
