package kind

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Version is another version of a kind than its hub.
type Version[T Object] struct {
	Kind schema.GroupVersionKind
	// New returns an empty object. nil means that the version has the hub's fields,
	// with the same names in JSON and the same numbers in protobuf: its objects are
	// those of the hub's Go type under another apiVersion.
	New func() runtime.Object
	// NewList returns an empty list of the version, whose Go type describes it in OpenAPI; nil
	// where New is.
	NewList func() runtime.Object
	// Default runs before ToHub, the hub's defaults behind it unless OwnDefaults says
	// that these are all.
	Default     func(runtime.Object)
	OwnDefaults bool
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
		Kind:    kind,
		New:     func() runtime.Object { return P(new(V)) },
		NewList: func() runtime.Object { return &ListOf[V]{} },
		ToHub: func(obj runtime.Object) (T, error) {
			if p, ok := obj.(P); ok {
				return toHub(p)
			}
			var none T
			return none, NotOfKind(obj, kind)
		},
	}
	if fromHub != nil {
		v.FromHub = func(obj T) (runtime.Object, error) { return fromHub(obj) }
	}
	return v
}

// SameFields are versions of a kind that have the hub's fields, by their
// apiVersion ("rbac.authorization.k8s.io/v1beta1").
func SameFields[T Object](kind string, apiVersions ...string) []Version[T] {
	out := make([]Version[T], len(apiVersions))
	for i, v := range apiVersions {
		out[i].Kind = schema.FromAPIVersionAndKind(v, kind)
	}
	return out
}

// DefaultOf makes a Version's Default of a function that takes its Go type.
func DefaultOf[P runtime.Object](fill func(P)) func(runtime.Object) {
	return func(obj runtime.Object) {
		if p, ok := obj.(P); ok {
			fill(p)
		}
	}
}

// CopyFields copies the fields that two versions name alike in JSON. It is for
// objects that are read from storage once and written in another version.
func CopyFields(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(b, to)
}

// same reports whether objects of the version are of the hub's Go type.
func (v *Version[T]) same() bool { return v.New == nil }

// defaultAlike completes an object of a version that has the hub's Go type. A caller that sees an
// object of the hub's type has no reason to convert it, so the hub's defaults are set here, too.
func (v *Version[T]) defaultAlike(obj runtime.Object, hubDefault func(T)) {
	if v.Default != nil {
		v.Default(obj)
	}
	if out, ok := obj.(T); ok && hubDefault != nil && v.ToHub == nil && !v.OwnDefaults {
		hubDefault(out)
	}
}

// toHub converts an object and completes it with the defaults of the hub, unless the
// version has all of them itself.
func (v *Version[T]) toHub(obj runtime.Object, hubDefault func(T)) (T, error) {
	out, ok := obj.(T)
	switch {
	case v.ToHub != nil:
		var err error
		if out, err = v.ToHub(obj); err != nil {
			return out, err
		}
	case !ok:
		return out, NotOfKind(obj, v.Kind)
	}
	if hubDefault != nil && !v.OwnDefaults {
		hubDefault(out)
	}
	return out, nil
}
