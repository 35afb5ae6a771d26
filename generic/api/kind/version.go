package kind

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Version is another version of a kind than its hub.
type Version[T Object] struct {
	// Kind of the version. Its group and kind may be left to the hub.
	Kind schema.GroupVersionKind
	// New returns an empty object. nil means that the version has the hub's fields, with the same names in JSON and the
	// same numbers in protobuf: its objects are those of the hub's Go type under another apiVersion.
	New func() runtime.Object
	// NewList returns an empty list of the version, whose Go type describes it in OpenAPI; nil where New is.
	NewList func() runtime.Object
	// Default runs before ToHub, the hub's defaults behind it unless OwnDefaults says that these are all.
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
}](gv schema.GroupVersion, toHub func(P) (T, error), fromHub func(T) (P, error)) Version[T] {
	v := Version[T]{
		Kind:    gv.WithKind(""),
		New:     func() runtime.Object { return P(new(V)) },
		NewList: func() runtime.Object { return &ListOf[V]{} },
		ToHub: func(obj runtime.Object) (T, error) {
			if p, ok := obj.(P); ok {
				return toHub(p)
			}
			var none T
			return none, NotOfKind(obj, gv.WithKind(reflect.TypeFor[V]().Name()))
		},
	}
	if fromHub != nil {
		v.FromHub = func(obj T) (runtime.Object, error) { return fromHub(obj) }
	}
	return v
}

// SimilarFields is a version whose Go type is V. Its conversions copy the fields that it names in JSON as the hub does,
// and toHub and fromHub convert the others. A nil fromHub makes a version that is read from storage only.
func SimilarFields[T Object, V any, P interface {
	*V
	runtime.Object
}](gv schema.GroupVersion, toHub func(P, T) error, fromHub func(T, P) error) Version[T] {
	var back func(T) (P, error)
	if fromHub != nil {
		back = func(from T) (P, error) {
			to := P(new(V))
			return to, convert(from, to, fromHub)
		}
	}
	return VersionOf(gv, func(from P) (T, error) {
		to := newOf[T]()
		return to, convert(from, to, toHub)
	}, back)
}

func convert[A, B any](from A, to B, others func(A, B) error) error {
	if err := CopyFields(from, to); err != nil || others == nil {
		return err
	}
	return others(from, to)
}

// newOf returns an empty object of a kind that is a pointer.
func newOf[T Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

// SameFields are versions that have the hub's fields. "v1beta1" is one of the hub's group, "extensions/v1beta1" of
// another.
func SameFields[T Object](apiVersions ...string) []Version[T] {
	out := make([]Version[T], len(apiVersions))
	for i, v := range apiVersions {
		out[i].Kind = schema.FromAPIVersionAndKind(v, "")
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

// named returns versions with the names that they leave to the hub.
func named[T Object](versions []Version[T], hub schema.GroupVersionKind) []Version[T] {
	out := slices.Clone(versions)
	for i := range out {
		out[i].Kind = nameOf(out[i].Kind, hub)
	}
	return out
}

// nameOf returns the kind of a version, whose group and kind are those of the hub unless it says otherwise.
func nameOf(version, hub schema.GroupVersionKind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: cmp.Or(version.Group, hub.Group), Version: version.Version,
		Kind: cmp.Or(version.Kind, hub.Kind)}
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

// toHub converts an object and completes it with the defaults of the hub, unless the version has all of them itself.
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
