package object

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// trees is the View of trees of JSON values.
type trees struct{}

func (trees) Typed() bool { return false }

func (trees) Is(obj runtime.Object, kind schema.GroupVersionKind, _ reflect.Type) bool {
	_, ok := obj.(runtime.Unstructured)
	return ok && obj.GetObjectKind().GroupVersionKind() == kind
}

func (trees) WithKind(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == kind {
		return obj
	}
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj
}

// metadata caches the managed fields of an object while its metadata is read.
type metadata struct {
	metav1.Object
	fields []metav1.ManagedFieldsEntry
	read   bool
}

func (m *metadata) GetManagedFields() []metav1.ManagedFieldsEntry {
	if !m.read {
		m.fields, m.read = m.Object.GetManagedFields(), true
	}
	return m.fields
}

func (trees) Metadata(obj metav1.Object) metav1.Object { return &metadata{Object: obj} }

// metadataOf returns the metadata in the tree without conversion, or nil.
func metadataOf(obj metav1.Object) map[string]any {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	return meta
}

func (trees) Managed(obj metav1.Object) Managed {
	values, _ := metadataOf(obj)["managedFields"].([]any)
	return Managed{values: values}
}

func (trees) SetManaged(obj metav1.Object, m Managed) {
	meta := metadataOf(obj)
	switch {
	case meta == nil:
	case m.values == nil:
		delete(meta, "managedFields")
	default:
		meta["managedFields"] = m.values
	}
}

func (trees) EncodeChange(obj, old metav1.Object, held []byte, encode func() ([]byte, error)) (value []byte, same bool,
	err error) {
	if value, err = encode(); err != nil || bytes.Equal(value, held) {
		return value, err == nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	o, also := old.(*unstructured.Unstructured)
	if !ok || !also {
		return value, false, nil
	}
	// encode has pruned the object. If only times differ now, it has not changed.
	meta, before := metadataOf(obj), metadataOf(old)
	fields, found := meta["managedFields"]
	if !found || !sameButTimes(u.Object, o.Object, meta, before) {
		return value, false, nil
	}
	meta["managedFields"] = before["managedFields"]
	again, err := encode()
	if err != nil {
		return nil, false, err
	}
	if bytes.Equal(again, held) {
		return again, true, nil
	}
	meta["managedFields"] = fields
	return value, false, nil
}
