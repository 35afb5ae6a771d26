package registry

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/storage"
	"triplane/generic/wire"
)

// attributes returns what selectors look at, of the bytes where that is possible.
func (s *Store[T]) attributes(r *storage.Record) (storage.Attributes, error) {
	if a, ok := s.form.attributes(r.Value); ok {
		return a, nil
	}
	obj, err := s.decode(r)
	if err != nil {
		return storage.Attributes{}, err
	}
	return s.objectAttributes(obj), nil
}

// objectAttributes are the attributes of a decoded object.
func (s *Store[T]) objectAttributes(obj T) storage.Attributes {
	set := make(fields.Set, 2+len(s.kind.Select.Fields))
	set["metadata.name"] = obj.GetName()
	if s.kind.Namespaced {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	for _, f := range s.kind.Select.Fields {
		set[f.Path] = f.Get(obj)
	}
	return storage.Attributes{Labels: obj.GetLabels(), Fields: set, UIDHash: storage.ShardHash(string(obj.GetUID()))}
}

// wireAttributes reads labels, name, namespace and UID out of a protobuf value.
func wireAttributes(value []byte, namespaced bool) (storage.Attributes, bool) {
	e, ok := wire.OpenEnvelope(value)
	if !ok {
		return storage.Attributes{}, false
	}
	meta, ok := wire.OnlyField(e.Object, wire.ObjectMetadata)
	if !ok {
		return storage.Attributes{}, false
	}
	set := make(fields.Set, 2)
	set["metadata.name"] = ""
	if namespaced {
		set["metadata.namespace"] = ""
	}
	var (
		l    labels.Set
		hash uint64
	)
	for i := 0; i < len(meta.Payload); {
		f, ok := wire.NextField(meta.Payload, i)
		if !ok {
			return storage.Attributes{}, false
		}
		i = f.End
		switch f.Number {
		case wire.MetaName:
			set["metadata.name"] = string(f.Payload)
		case wire.MetaNamespace:
			if namespaced {
				set["metadata.namespace"] = string(f.Payload)
			}
		case wire.MetaUID:
			hash = storage.ShardHash(string(f.Payload))
		case wire.MetaLabels:
			if l == nil {
				l = labels.Set{}
			}
			key, value, ok := wire.MapEntry(f.Payload)
			if !ok {
				return storage.Attributes{}, false
			}
			l[key] = value
		}
	}
	return storage.Attributes{Labels: l, Fields: set, UIDHash: hash}, true
}
