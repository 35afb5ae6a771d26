package kind

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// FieldsOf are the fields of a decoded object.
func (k *Kind[T]) FieldsOf(obj T) storage.Set {
	set := make([]storage.Pair, 0, 3+len(k.Select.Fields))
	set = append(set, storage.Pair{Key: storage.FieldName, Value: obj.GetName()},
		storage.Pair{Key: storage.FieldUID, Value: string(obj.GetUID())})
	if k.Namespaced {
		set = append(set, storage.Pair{Key: storage.FieldNamespace, Value: obj.GetNamespace()})
	}
	for _, f := range k.Select.Fields {
		set = append(set, storage.Pair{Key: f.Path, Value: f.Get(obj)})
	}
	return storage.NewSet(set)
}

// wireLabels reads the labels out of a protobuf value, of any kind and version.
func wireLabels(value []byte) (storage.Set, bool) {
	e, ok := wire.OpenEnvelope(value)
	if !ok {
		return nil, false
	}
	meta, ok := wire.OnlyField(e.Object, wire.ObjectMetadata)
	if !ok {
		return nil, false
	}
	count, size := 0, 0
	for i := 0; i < len(meta.Payload); {
		f, ok := wire.NextField(meta.Payload, i)
		if !ok {
			return nil, false
		}
		if i = f.End; f.Number == wire.MetaLabels {
			count, size = count+1, size+len(f.Payload)
		}
	}
	if count == 0 {
		return nil, true
	}
	return mapEntries(meta.Payload, wire.MetaLabels, count, size)
}

// mapEntries reads a map of strings whose entries are count fields of a message with size
// bytes. All strings are parts of one.
func mapEntries(message []byte, number uint64, count, size int) (storage.Set, bool) {
	var text strings.Builder
	text.Grow(size)
	part := func(b []byte) string {
		start := text.Len()
		text.Write(b)
		return text.String()[start:]
	}
	pairs := make([]storage.Pair, 0, count)
	for i := 0; i < len(message); {
		f, _ := wire.NextField(message, i)
		if i = f.End; f.Number != number {
			continue
		}
		key, value, ok := wire.MapEntry(f.Payload)
		if !ok {
			return nil, false
		}
		pairs = append(pairs, storage.Pair{Key: part(key), Value: part(value)})
	}
	return storage.NewSet(pairs), true
}

// FieldLabel is rest.Resource.FieldLabel. Its errors are in the words of the kinds
// that declare selectable fields, or of those that declare none.
func (k *Kind[T]) FieldLabel(version schema.GroupVersion, label, value string) (string, string, error) {
	if k.Select.Labels != nil {
		if path, ok := k.Select.Labels[label]; ok {
			return path, value, nil
		}
		if !strings.HasPrefix(label, "metadata.") {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
	}
	own := len(k.Select.Fields) > 0 || !k.View().Typed()
	if label == "metadata.name" || label == "metadata.namespace" && (k.Namespaced && !k.Select.AnyNamespace || !own) {
		return label, value, nil
	}
	for i := range k.Select.Fields {
		if k.Select.Fields[i].Path == label {
			return label, value, nil
		}
	}
	if k.Select.Unknown != "" {
		unknown := strings.Replace(k.Select.Unknown, k.Hub.GroupVersion().String(), version.String(), 1)
		return "", "", fmt.Errorf(unknown, label)
	}
	if own {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return ConvertMetadataLabel(version, label, value)
}

// ConvertMetadataLabel is the rest.Resource.FieldLabel of resources whose selectors may name
// nothing but the name and the namespace.
func ConvertMetadataLabel(_ schema.GroupVersion, label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" {
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", label, "metadata.name",
		"metadata.namespace")
}
