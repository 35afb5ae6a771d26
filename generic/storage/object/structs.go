package object

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// structs is the View of Go structs.
type structs struct{}

func (structs) Typed() bool { return true }

func (structs) Is(obj runtime.Object, _ schema.GroupVersionKind, goType reflect.Type) bool {
	return reflect.TypeOf(obj) == goType
}

func (structs) WithKind(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == kind {
		return obj
	}
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return obj
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	obj = c.Interface().(runtime.Object)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj
}

func (structs) Metadata(obj metav1.Object) metav1.Object { return obj }

func (structs) Managed(obj metav1.Object) Managed { return Managed{entries: obj.GetManagedFields()} }

func (structs) SetManaged(obj metav1.Object, m Managed) { obj.SetManagedFields(m.entries) }

func (structs) EncodeChange(obj, old metav1.Object, held []byte, encode func() ([]byte, error)) (value []byte,
	same bool, err error) {
	fields := obj.GetManagedFields()
	before := old.GetManagedFields()
	if onlyTimesDiffer(fields, before) {
		obj.SetManagedFields(before)
		if value, err = encode(); err != nil || bytes.Equal(value, held) {
			return value, err == nil, err
		}
		obj.SetManagedFields(fields)
	}
	value, err = encode()
	return value, err == nil && bytes.Equal(value, held), err
}

// onlyTimesDiffer reports whether managed fields are equal, ignoring their times.
func onlyTimesDiffer(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Manager != y.Manager || x.Operation != y.Operation || x.APIVersion != y.APIVersion ||
			x.Subresource != y.Subresource || x.FieldsType != y.FieldsType {
			return false
		}
		if (x.FieldsV1 == nil) != (y.FieldsV1 == nil) || x.FieldsV1 != nil &&
			string(x.FieldsV1.Raw) != string(y.FieldsV1.Raw) {
			return false
		}
	}
	return true
}
