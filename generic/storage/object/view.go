package object

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// View is how objects of one sort are looked at and changed.
type View interface {
	// Typed reports whether the objects are Go structs, which know all fields
	// that they may have and leave out their kind in lists.
	Typed() bool
	// Is reports whether obj is of the kind in this version. Structs need not
	// say their kind: goType, that of an empty object of it, decides for them.
	Is(obj runtime.Object, kind schema.GroupVersionKind, goType reflect.Type) bool
	// WithKind returns the object with its kind set: itself where it has it,
	// else a copy, which is a shallow one of structs.
	WithKind(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object
	// Metadata returns the object for somebody who reads its metadata many
	// times, and does not change it in between.
	Metadata(obj metav1.Object) metav1.Object
	// Managed returns the managed fields as they lie in the object, for
	// SetManaged and SameManaged.
	Managed(obj metav1.Object) Managed
	// SetManaged puts managed fields back.
	SetManaged(obj metav1.Object, m Managed)
	// EncodeChange returns the value of a changed object, and whether it is the
	// one that storage holds: a change of nothing but the times of managed fields
	// is none, and is taken back in obj. encode returns the value of obj as it is
	// then, and may prune it.
	EncodeChange(obj, old metav1.Object, held []byte, encode func() ([]byte, error)) (value []byte, same bool, err error)
}

// Managed is the managed fields of an object in the form that it keeps them.
type Managed struct {
	entries []metav1.ManagedFieldsEntry
	values  []any
}

// Same reports whether both are the same list in memory, of which no part was
// replaced unless it was changed in place.
func (m Managed) Same(o Managed) bool {
	return sameSlice(m.entries, o.entries) && sameSlice(m.values, o.values)
}

func sameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ViewOf returns the View of an object, and of all others of its kind.
func ViewOf(obj any) View {
	if _, ok := obj.(runtime.Unstructured); ok {
		return trees{}
	}
	return structs{}
}

// Typed reports whether an object is a Go struct rather than a tree.
func Typed(obj any) bool {
	_, ok := obj.(runtime.Unstructured)
	return !ok
}
