package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protobufPrefix is the prefix of every protobuf value. A runtime.Unknown follows it.
const protobufPrefix = "k8s\x00"

// Field numbers of runtime.Unknown, of its TypeMeta, of an object's metadata, and of the ObjectMeta fields that
// are read without decoding.
const (
	envelopeTypeMeta        = 1
	envelopeRaw             = 2
	envelopeContentEncoding = 3
	envelopeContentType     = 4

	typeMetaAPIVersion = 1
	typeMetaKind       = 2

	// ObjectMetadata is the field number of the metadata of an object or list.
	ObjectMetadata = 1
	// ListItems is the field number of the items of a list.
	ListItems = 2

	MetaName            = 1
	MetaNamespace       = 3
	MetaUID             = 5
	MetaResourceVersion = 6
	MetaLabels          = 11
	MetaAnnotations     = 12
)

// ErrNotProtobuf is the error for bytes that are not an object in its envelope.
var ErrNotProtobuf = errors.New("not a protobuf object of Kubernetes")

// IsProtobuf reports whether a value has the prefix of protobuf objects.
func IsProtobuf(value []byte) bool {
	return len(value) >= len(protobufPrefix) && string(value[:len(protobufPrefix)]) == protobufPrefix
}

// Envelope is the decoded envelope of a protobuf object.
type Envelope struct {
	APIVersion, Kind []byte
	Object           []byte // the encoded object
	field            Field  // the field with Object, after the prefix
}

// Is reports whether the envelope has the kind.
func (e *Envelope) Is(kind schema.GroupVersionKind) bool {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return string(e.APIVersion) == apiVersion && string(e.Kind) == name
}

// OpenEnvelope decodes the envelope of a protobuf value.
func OpenEnvelope(value []byte) (e Envelope, ok bool) {
	if !IsProtobuf(value) {
		return e, false
	}
	meta, raw, ok := twoFields(value[len(protobufPrefix):], envelopeTypeMeta, envelopeRaw)
	if !ok || meta.Number == 0 || raw.Number == 0 {
		return e, false
	}
	e.Object, e.field = raw.Payload, raw
	apiVersion, kind, ok := twoFields(meta.Payload, typeMetaAPIVersion, typeMetaKind)
	e.APIVersion, e.Kind = apiVersion.Payload, kind.Payload
	return e, ok && kind.Number > 0
}

// ObjectOf returns the encoded object in a protobuf value, whose envelope may have no kind.
func ObjectOf(value []byte) ([]byte, error) {
	if e, ok := OpenEnvelope(value); ok {
		return e.Object, nil
	}
	if !IsProtobuf(value) {
		return nil, ErrNotProtobuf
	}
	var u runtime.Unknown
	if err := u.Unmarshal(value[len(protobufPrefix):]); err != nil {
		return nil, err
	}
	return u.Raw, nil
}

// ObjectPrefix returns the beginning of a protobuf value of a kind, for CutObject.
func ObjectPrefix(kind schema.GroupVersionKind) []byte {
	head := AppendEnvelopeHead(make([]byte, 0, 64), kind, 0)
	return head[:len(head)-1] // without the size
}

// CutObject returns the encoded object in a protobuf value that begins with prefix and ends with EnvelopeTail, as those
// that this package encodes do. It is ObjectOf for many values: it reads only the beginning of each.
func CutObject(value, prefix []byte) (object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(value, prefix)
	if !ok {
		return nil, false
	}
	size, n := binary.Uvarint(rest)
	end := len(rest) - len(EnvelopeTail())
	if n <= 0 || end < n || size != uint64(end-n) {
		return nil, false
	}
	return rest[n:end], true
}

// AppendProtobuf encodes an object in an envelope with the kind.
func AppendProtobuf(dst []byte, kind schema.GroupVersionKind, obj any) ([]byte, error) {
	m, ok := obj.(runtime.ProtobufMarshaller)
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf encoding", obj)
	}
	var envelope runtime.Unknown
	envelope.APIVersion, envelope.Kind = kind.ToAPIVersionAndKind()
	size := m.Size()
	// The envelope adds a tag, and a length of at most ten bytes, for the object.
	room := len(protobufPrefix) + envelope.Size() + size + 11
	start := len(dst)
	if cap(dst)-start < room {
		dst = append(make([]byte, 0, start+room), dst...)
	}
	dst = append(dst, protobufPrefix...)
	n, err := envelope.NestedMarshalTo(dst[len(dst):len(dst)+room-len(protobufPrefix)], m, uint64(size))
	if err != nil {
		return nil, err
	}
	return dst[:len(dst)+n], nil
}

// AppendEnvelopeHead appends the part of an envelope before an object of size bytes. The caller appends the
// object and EnvelopeTail.
func AppendEnvelopeHead(dst []byte, kind schema.GroupVersionKind, size int) []byte {
	apiVersion, name := kind.ToAPIVersionAndKind()
	dst = append(dst, protobufPrefix...)
	dst = AppendTag(dst, envelopeTypeMeta, BytesSize(len(apiVersion))+BytesSize(len(name)))
	dst = append(AppendTag(dst, typeMetaAPIVersion, len(apiVersion)), apiVersion...)
	dst = append(AppendTag(dst, typeMetaKind, len(name)), name...)
	return AppendTag(dst, envelopeRaw, size)
}

// EnvelopeTail returns the part of an envelope after the object: an empty content encoding and content type.
func EnvelopeTail() []byte {
	return []byte{envelopeContentEncoding<<3 | protoBytes, 0, envelopeContentType<<3 | protoBytes, 0}
}

// AppendWithVersion appends a protobuf value with another resource version to dst. ok is false if the object must be
// decoded to set it.
func AppendWithVersion(dst, value []byte, resourceVersion string) (out []byte, ok bool) {
	e, ok := OpenEnvelope(value)
	if !ok {
		return nil, false
	}
	return e.appendWithVersion(dst, value[len(protobufPrefix):], resourceVersion)
}

func (e *Envelope) appendWithVersion(dst, body []byte, resourceVersion string) (out []byte, ok bool) {
	meta, ok := OnlyField(e.Object, ObjectMetadata)
	if !ok {
		return nil, false
	}
	version, ok := OnlyField(meta.Payload, MetaResourceVersion)
	if !ok {
		return nil, false
	}
	metaSize := len(meta.Payload) - (version.End - version.Start) + BytesSize(len(resourceVersion))
	rawSize := len(e.Object) - (meta.End - meta.Start) + BytesSize(metaSize)
	size := len(protobufPrefix) + len(body) - (e.field.End - e.field.Start) + BytesSize(rawSize)

	out = append(slices.Grow(dst, size), protobufPrefix...)
	out = append(out, body[:e.field.Start]...)
	out = AppendTag(out, envelopeRaw, rawSize)
	out = append(out, e.Object[:meta.Start]...)
	out = AppendTag(out, ObjectMetadata, metaSize)
	out = append(out, meta.Payload[:version.Start]...)
	out = AppendTag(out, MetaResourceVersion, len(resourceVersion))
	out = append(out, resourceVersion...)
	out = append(out, meta.Payload[version.End:]...)
	out = append(out, e.Object[meta.End:]...)
	return append(out, body[e.field.End:]...), true
}

// SetAnnotation returns a copy of a protobuf value with an annotation in place of others of its name. ok is false if
// the value is not protobuf, or must be decoded to set it.
func SetAnnotation(value []byte, name, content string) (out []byte, ok bool) {
	e, ok := OpenEnvelope(value)
	if !ok {
		return nil, false
	}
	meta, ok := OnlyField(e.Object, ObjectMetadata)
	if !ok {
		return nil, false
	}
	entry := BytesSize(len(name)) + BytesSize(len(content))
	changed := make([]byte, 0, len(meta.Payload)+BytesSize(entry))
	for i := 0; i < len(meta.Payload); {
		f, valid := NextField(meta.Payload, i)
		if !valid {
			return nil, false
		}
		i = f.End
		if f.Number == MetaAnnotations {
			if key, _, valid := MapEntry(f.Payload); !valid || string(key) == name {
				continue
			}
		}
		changed = append(changed, meta.Payload[f.Start:f.End]...)
	}
	changed = AppendTag(changed, MetaAnnotations, entry)
	changed = AppendBytes(AppendBytes(changed, 1, []byte(name)), 2, []byte(content))
	return e.setMetadata(value[len(protobufPrefix):], meta, changed), true
}

// setMetadata returns the value of an envelope, whose body follows the prefix, with another payload of the field meta.
func (e *Envelope) setMetadata(body []byte, meta Field, payload []byte) []byte {
	rawSize := len(e.Object) - (meta.End - meta.Start) + BytesSize(len(payload))
	size := len(protobufPrefix) + len(body) - (e.field.End - e.field.Start) + BytesSize(rawSize)
	out := append(make([]byte, 0, size), protobufPrefix...)
	out = append(out, body[:e.field.Start]...)
	out = AppendTag(out, envelopeRaw, rawSize)
	out = append(out, e.Object[:meta.Start]...)
	out = AppendBytes(out, ObjectMetadata, payload)
	out = append(out, e.Object[meta.End:]...)
	return append(out, body[e.field.End:]...)
}
