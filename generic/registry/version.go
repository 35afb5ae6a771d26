package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is another version of a kind than its hub.
type Version[T Object] struct {
	Kind schema.GroupVersionKind
	// New returns an empty object. nil means that the version has the hub's fields,
	// with the same names in JSON and the same numbers in protobuf: its objects are
	// those of the hub's Go type under another apiVersion.
	New func() runtime.Object
	// Default runs before ToHub; nil means that the hub's defaults come after it.
	Default func(runtime.Object)
	// ToHub and FromHub convert. They are nil where nothing differs, FromHub also
	// where the version is read from storage only.
	ToHub   func(runtime.Object) (T, error)
	FromHub func(T) (runtime.Object, error)
}

// VersionOf is a version whose Go type is V, with its conversions.
func VersionOf[T Object, V any, P interface {
	*V
	runtime.Object
}](kind schema.GroupVersionKind, toHub func(P) (T, error), fromHub func(T) (P, error)) Version[T] {
	v := Version[T]{
		Kind: kind,
		New:  func() runtime.Object { return P(new(V)) },
		ToHub: func(obj runtime.Object) (T, error) {
			if p, ok := obj.(P); ok {
				return toHub(p)
			}
			var none T
			return none, errNotOfKind(obj, kind)
		},
	}
	if fromHub != nil {
		v.FromHub = func(obj T) (runtime.Object, error) { return fromHub(obj) }
	}
	return v
}

// SameFields are versions that have the hub's fields.
func SameFields[T Object](kinds ...schema.GroupVersionKind) []Version[T] {
	out := make([]Version[T], len(kinds))
	for i, kind := range kinds {
		out[i].Kind = kind
	}
	return out
}

// same reports whether objects of the version are of the hub's Go type.
func (v *Version[T]) same() bool { return v.New == nil }

// toHub converts an object and completes it with the defaults of the version, or
// else of the hub.
func (v *Version[T]) toHub(obj runtime.Object, hubDefault func(T)) (T, error) {
	var out T
	var err error
	switch t, ok := obj.(T); {
	case v.ToHub != nil:
		out, err = v.ToHub(obj)
	case ok:
		out = t
	default:
		err = fmt.Errorf("registry: %T is not of the fields of %s", obj, v.Kind)
	}
	if err == nil && v.Default == nil && hubDefault != nil {
		hubDefault(out)
	}
	return out, err
}
