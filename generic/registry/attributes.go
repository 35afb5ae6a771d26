package registry

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/storage"
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
	e, ok := openEnvelope(value)
	if !ok {
		return storage.Attributes{}, false
	}
	meta, ok := onlyField(e.raw, objectMetadata)
	if !ok {
		return storage.Attributes{}, false
	}
	set := make(fields.Set, 2)
	set["metadata.name"] = ""
	if namespaced {
		set["metadata.namespace"] = ""
	}
	var l labels.Set
	for i := 0; i < len(meta.payload); {
		f, ok := nextField(meta.payload, i)
		if !ok {
			return storage.Attributes{}, false
		}
		i = f.end
		switch f.number {
		case metaName:
			set["metadata.name"] = string(f.payload)
		case metaNamespace:
			if namespaced {
				set["metadata.namespace"] = string(f.payload)
			}
		case metaLabels:
			if l == nil {
				l = labels.Set{}
			}
			key, value, ok := mapEntry(f.payload)
			if !ok {
				return storage.Attributes{}, false
			}
			l[key] = value
		}
	}
	return storage.Attributes{Labels: l, Fields: set}, true
}

// mapEntry reads an entry of a string map; absent parts are empty, the last of
// several counts.
func mapEntry(b []byte) (key, value string, ok bool) {
	for i := 0; i < len(b); {
		f, ok := nextField(b, i)
		if !ok {
			return "", "", false
		}
		i = f.end
		switch f.number {
		case mapKey:
			key = string(f.payload)
		case mapValue:
			value = string(f.payload)
		}
	}
	return key, value, true
}
