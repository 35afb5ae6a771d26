package object

import (
	"bytes"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Equal reports what equality.Semantic.DeepEqual reports of values of API types, which have no cycles, at a tenth of
// its time: nil and empty slices and maps are equal, quantities are equal as numbers, times as instants.
func Equal(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return a == nil && b == nil
	}
	return comparison{}.equal(x, y)
}

// Identical reports whether two values of the same API type have the same JSON: unlike in Equal, nil and empty slices
// and maps differ.
func Identical(a, b reflect.Value) bool { return comparison{strict: true}.equal(a, b) }

// comparison compares two values of the same type. strict distinguishes nil from empty.
type comparison struct{ strict bool }

func (c comparison) equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || a.Pointer() == b.Pointer() {
			return a.Pointer() == b.Pointer()
		}
		return c.equal(a.Elem(), b.Elem())
	case reflect.Struct:
		return c.structs(a, b)
	case reflect.Slice:
		return c.slices(a, b)
	case reflect.Map:
		return c.maps(a, b)
	}
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

func (c comparison) structs(a, b reflect.Value) bool {
	switch a.Type() {
	case reflect.TypeFor[resource.Quantity]():
		x, y := pointerTo[resource.Quantity](a), pointerTo[resource.Quantity](b)
		return (!c.strict || x.Format == y.Format) && x.Cmp(*y) == 0
	case reflect.TypeFor[metav1.Time]():
		return pointerTo[metav1.Time](a).Time.Equal(pointerTo[metav1.Time](b).Time)
	case reflect.TypeFor[metav1.MicroTime]():
		return pointerTo[metav1.MicroTime](a).Time.Equal(pointerTo[metav1.MicroTime](b).Time)
	}
	for i := range a.NumField() {
		f := a.Field(i)
		if !f.CanInterface() {
			return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
		}
		if !c.equal(f, b.Field(i)) {
			return false
		}
	}
	return true
}

// pointerTo returns a pointer to a value, or to a copy if it has no address.
func pointerTo[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	value := v.Interface().(T)
	return &value
}

// sameSize reports whether two slices or maps have the same length and, in a strict comparison, are nil alike.
func (c comparison) sameSize(a, b reflect.Value) bool {
	return a.Len() == b.Len() && (!c.strict || a.IsNil() == b.IsNil())
}

func (c comparison) slices(a, b reflect.Value) bool {
	if !c.sameSize(a, b) {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !c.equal(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func (c comparison) maps(a, b reflect.Value) bool {
	if !c.sameSize(a, b) {
		return false
	}
	for i := a.MapRange(); i.Next(); {
		other := b.MapIndex(i.Key())
		if !other.IsValid() || !c.equal(i.Value(), other) {
			return false
		}
	}
	return true
}
