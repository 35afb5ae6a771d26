package object

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// View is the set of operations on objects of one representation.
type View interface {
	// Typed reports whether the objects are Go structs. Structs have a fixed set of fields and no kind in
	// lists.
	Typed() bool
	// Is reports whether obj is of the kind. For structs the Go type decides, because their kind may be empty:
	// goType is the type of an empty object of the kind.
	Is(obj runtime.Object, kind schema.GroupVersionKind, goType reflect.Type) bool
	// WithKind returns the object with its kind set: obj itself if it has this kind, otherwise a copy, which is
	// shallow for structs.
	WithKind(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object
	// Metadata returns the metadata for repeated reads. obj must not change in between.
	Metadata(obj metav1.Object) metav1.Object
	// Managed returns the managed fields without conversion, for SetManaged and Managed.Same.
	Managed(obj metav1.Object) Managed
	// SetManaged sets managed fields.
	SetManaged(obj metav1.Object, m Managed)
	// EncodeChange returns the value of a changed object, and whether it equals held, the stored one. If only
	// the times of managed fields have changed, it restores them in obj and returns held. encode returns the
	// current value of obj and may prune obj.
	EncodeChange(obj, old metav1.Object, held []byte, encode func() ([]byte, error)) (value []byte, same bool, err error)
}

// Managed is the managed fields of an object in their representation.
type Managed struct {
	entries []metav1.ManagedFieldsEntry
	values  []any
}

// Same reports whether both are the same slice. It does not detect elements that were changed in place.
func (m Managed) Same(o Managed) bool {
	return sameSlice(m.entries, o.entries) && sameSlice(m.values, o.values)
}

func sameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ViewOf returns the View of an object's kind.
func ViewOf(obj any) View {
	if _, ok := obj.(runtime.Unstructured); ok {
		return trees{}
	}
	return structs{}
}

// Typed reports whether an object is a Go struct.
func Typed(obj any) bool {
	_, ok := obj.(runtime.Unstructured)
	return !ok
}
