package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
	"triplane/generic/wire"
)

// typedStorage keeps objects of Go types as kube-apiserver does: protobuf in
// its envelope, or JSON with a newline at the end.
type typedStorage struct {
	hub    rest.Codec
	write  rest.Codec // of the version that storage holds, the hub's as a rule
	others []versionCodec
	json   bool
}

// newTypedStorage finds the version that storage holds among the codecs, the
// first of which is the hub's.
func newTypedStorage(codecs []versionCodec, kept schema.GroupVersionKind, json bool) (*typedStorage, error) {
	t := &typedStorage{hub: codecs[0].codec, others: codecs[1:]}
	for i := range codecs {
		if codecs[i].codec.Kind() == kept {
			t.write = codecs[i].codec
			t.json = json || !t.write.Supports(wire.Protobuf)
			return t, nil
		}
	}
	return nil, fmt.Errorf("registry: %s is to be kept as %s, which is none of its versions", t.hub.Kind(), kept)
}

func (t *typedStorage) EncodeStored(obj runtime.Object) ([]byte, error) {
	obj, err := t.write.FromHub(obj)
	if err != nil {
		return nil, err
	}
	if !t.json {
		return t.write.Encode(nil, obj, wire.Protobuf)
	}
	b, err := t.write.Encode(nil, obj, wire.JSON)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// unmarshaler is what Go types with a protobuf encoding have.
type unmarshaler interface {
	Reset()
	Unmarshal([]byte) error
}

func (t *typedStorage) DecodeStored(value []byte) (runtime.Object, error) {
	if obj, ok, err := t.decodeProtobuf(value); ok {
		return obj, err
	}
	mt := wire.JSON
	if wire.IsProtobuf(value) {
		mt = wire.Protobuf
	}
	obj, kind, _, err := t.hub.Decode(value, mt, false)
	if err != nil {
		return nil, err
	}
	hub := t.hub.Kind()
	if kind == nil || *kind == hub {
		obj.GetObjectKind().SetGroupVersionKind(hub)
		return obj, nil
	}
	for i := range t.others {
		if codec := t.others[i].codec; codec.Kind() == *kind {
			codec.Default(obj)
			return codec.ToHub(obj)
		}
	}
	return nil, fmt.Errorf("registry: storage holds %s where %s is kept", kind, hub)
}

// decodeProtobuf is the short way for values of the hub version.
func (t *typedStorage) decodeProtobuf(value []byte) (runtime.Object, bool, error) {
	hub := t.hub.Kind()
	e, ok := wire.OpenEnvelope(value)
	if !ok || !e.Is(hub) {
		return nil, false, nil
	}
	obj := t.hub.New()
	u, ok := obj.(unmarshaler)
	if !ok {
		return nil, false, nil
	}
	if err := u.Unmarshal(e.Object); err != nil {
		return nil, true, err
	}
	obj.GetObjectKind().SetGroupVersionKind(hub)
	return obj, true, nil
}
