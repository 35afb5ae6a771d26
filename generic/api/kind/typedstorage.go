package kind

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// typedStorage keeps objects of Go types as kube-apiserver does. It writes one version in one form and reads all that
// kube-apiserver reads, whichever release or media type wrote them.
type typedStorage[T Object] struct {
	hub       rest.Codec
	write     rest.Codec // of the version that storage holds, the hub's as a rule
	others    []Version[T]
	toDefault func(T)
	form      wire.StoredForm
}

// newTypedStorage finds the version that storage holds among the codecs, the first of which is the hub's.
func newTypedStorage[T Object](f *structs[T]) (*typedStorage[T], error) {
	t := &typedStorage[T]{hub: f.versions[0].Codec, toDefault: f.kind.Write.Default}
	t.others = append(append(t.others, f.Versions...), f.Former...)
	for i := range f.versions {
		if f.versions[i].Codec.Kind() == f.StorageVersion {
			t.write = f.versions[i].Codec
			if t.form = f.form; t.form == wire.StoredProtobuf && !t.write.Supports(wire.Protobuf) {
				t.form = wire.StoredJSON
			}
			return t, nil
		}
	}
	return nil, fmt.Errorf("registry: %s is to be kept as %s, which is none of its versions", t.hub.Kind(),
		f.StorageVersion)
}

func (t *typedStorage[T]) EncodeStored(obj runtime.Object) ([]byte, error) {
	obj, err := t.write.FromHub(obj)
	if err != nil {
		return nil, err
	}
	if k := obj.GetObjectKind(); k.GroupVersionKind() != t.write.Kind() {
		k.SetGroupVersionKind(t.write.Kind()) // objects that others read bring theirs
	}
	return wire.AppendStored(nil, t.write.Kind(), obj, t.form)
}

// unmarshaler is what Go types with a protobuf encoding have.
type unmarshaler interface {
	Reset()
	Unmarshal([]byte) error
}

// DecodeStored implements StorageCodec. The object has its defaults.
func (t *typedStorage[T]) DecodeStored(value []byte) (runtime.Object, error) {
	var obj runtime.Object
	var err error
	if wire.IsProtobuf(value) {
		obj, err = t.decodeProtobuf(value)
	} else {
		obj, err = t.decodeText(value)
	}
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(t.hub.Kind())
	return obj, nil
}

func (t *typedStorage[T]) decodeProtobuf(value []byte) (runtime.Object, error) {
	e, ok := wire.OpenEnvelope(value)
	if !ok {
		return nil, fmt.Errorf("registry: storage holds no well-formed protobuf of %s", t.hub.Kind())
	}
	unmarshal := func(into runtime.Object) error {
		if u, ok := into.(unmarshaler); ok {
			return u.Unmarshal(e.Object)
		}
		return fmt.Errorf("registry: %s has no protobuf encoding", e.Kind)
	}
	if e.Is(t.hub.Kind()) {
		return t.decodeHub(unmarshal)
	}
	return t.decodeOther(schema.FromAPIVersionAndKind(string(e.APIVersion), string(e.Kind)), unmarshal)
}

// decodeText reads JSON, or YAML, which may leave out its kind.
func (t *typedStorage[T]) decodeText(value []byte) (runtime.Object, error) {
	value, err := wire.StoredText(value)
	if err != nil {
		return nil, err
	}
	unmarshal := func(into runtime.Object) error { return kjson.UnmarshalCaseSensitivePreserveInts(value, into) }
	obj, err := t.decodeHub(unmarshal)
	if err == nil {
		if kind := obj.GetObjectKind().GroupVersionKind(); kind.Empty() || kind == t.hub.Kind() {
			return obj, nil
		}
	}
	var names runtime.TypeMeta
	if nameErr := kjson.UnmarshalCaseSensitivePreserveInts(value, &names); nameErr != nil {
		return nil, nameErr
	}
	if kind := names.GroupVersionKind(); kind != t.hub.Kind() {
		return t.decodeOther(kind, unmarshal)
	}
	return nil, err
}

func (t *typedStorage[T]) decodeHub(unmarshal func(into runtime.Object) error) (runtime.Object, error) {
	obj := t.hub.New()
	if err := unmarshal(obj); err != nil {
		return nil, err
	}
	t.hub.Default(obj)
	return obj, nil
}

// decodeOther reads an object of another version than the hub.
func (t *typedStorage[T]) decodeOther(kind schema.GroupVersionKind,
	unmarshal func(into runtime.Object) error) (runtime.Object, error) {
	for i := range t.others {
		v := &t.others[i]
		if v.Kind != kind {
			continue
		}
		obj := t.hub.New()
		if !v.same() {
			obj = v.New()
		}
		if err := unmarshal(obj); err != nil {
			return nil, err
		}
		if v.Default != nil {
			v.Default(obj)
		}
		return v.toHub(obj, t.toDefault)
	}
	return nil, fmt.Errorf("registry: storage holds %s where %s is kept", kind, t.hub.Kind())
}
