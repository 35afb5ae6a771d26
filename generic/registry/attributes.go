package registry

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/storage"
	"triplane/generic/wire"
)

// attributes tells the cache what selectors look at. Where the kind has no
// selectable fields of its own, protobuf is read without being decoded.
func (s *Store[T]) attributes(r *storage.Record) (storage.Attributes, error) {
	if len(s.kind.Fields) == 0 && s.kind.Storage == nil {
		if a, ok := wireAttributes(r.Value, s.kind.Namespaced); ok {
			return a, nil
		}
	}
	if t, ok := s.storage.(StorageAttributes); ok {
		if a, ok := t.StoredAttributes(r.Value); ok {
			return a, nil
		}
	}
	obj, err := s.decode(r)
	if err != nil {
		return storage.Attributes{}, err
	}
	return s.objectAttributes(obj), nil
}

// objectAttributes are the attributes of a decoded object.
func (s *Store[T]) objectAttributes(obj T) storage.Attributes {
	set := make(fields.Set, 2+len(s.kind.Fields))
	set["metadata.name"] = obj.GetName()
	if s.kind.Namespaced {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	for _, f := range s.kind.Fields {
		set[f.Path] = f.Get(obj)
	}
	return storage.Attributes{Labels: obj.GetLabels(), Fields: set}
}

// wireAttributes reads labels, name and namespace out of a protobuf value.
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
	var l labels.Set
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
	return storage.Attributes{Labels: l, Fields: set}, true
}
