package registry

import "encoding/binary"

// Field numbers of the protobuf messages that are read without being decoded:
// runtime.Unknown, its TypeMeta, the metadata that every object has as its first
// field, and ObjectMeta.
const (
	envelopeTypeMeta = 1
	envelopeRaw      = 2

	typeMetaAPIVersion = 1
	typeMetaKind       = 2

	objectMetadata = 1

	metaName            = 1
	metaNamespace       = 3
	metaResourceVersion = 6
	metaLabels          = 11

	mapKey   = 1
	mapValue = 2

	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// wireField is a field of a protobuf message, as it lies in its bytes.
type wireField struct {
	number     uint64
	kind       uint64
	payload    []byte // of wireBytes fields
	start, end int    // the whole field, tag included
}

// nextField reads the field that begins at offset i. ok is false where the
// bytes are no protobuf message.
func nextField(b []byte, i int) (f wireField, ok bool) {
	f.start = i
	tag, n := binary.Uvarint(b[i:])
	if n <= 0 {
		return f, false
	}
	i += n
	f.number, f.kind = tag>>3, tag&7
	switch f.kind {
	case wireVarint:
		if _, n = binary.Uvarint(b[i:]); n <= 0 {
			return f, false
		}
		i += n
	case wireFixed8:
		i += 8
	case wireFixed4:
		i += 4
	case wireBytes:
		size, n := binary.Uvarint(b[i:])
		if n <= 0 || size > uint64(len(b)-i-n) {
			return f, false
		}
		i += n
		f.payload = b[i : i+int(size) : i+int(size)]
		i += int(size)
	default: // groups are not in use
		return f, false
	}
	f.end = i
	return f, i <= len(b) && f.number > 0
}

// onlyField finds the one field of a number. It fails where there are several,
// whose merge is for a real decoder.
func onlyField(b []byte, number uint64) (found wireField, ok bool) {
	for i := 0; i < len(b); {
		f, valid := nextField(b, i)
		if !valid {
			return found, false
		}
		if f.number == number {
			if ok || f.kind != wireBytes {
				return found, false
			}
			found, ok = f, true
		}
		i = f.end
	}
	return found, ok
}

// envelope is what surrounds a protobuf object.
type envelope struct {
	apiVersion, kind []byte
	raw              []byte
	rawField         wireField // its place in the value, after the prefix
}

// openEnvelope reads the envelope of a protobuf value.
func openEnvelope(value []byte) (e envelope, ok bool) {
	if len(value) < len(protobufPrefix) || string(value[:len(protobufPrefix)]) != protobufPrefix {
		return e, false
	}
	body := value[len(protobufPrefix):]
	if e.rawField, ok = onlyField(body, envelopeRaw); !ok {
		return e, false
	}
	e.raw = e.rawField.payload
	meta, ok := onlyField(body, envelopeTypeMeta)
	if !ok {
		return e, false
	}
	apiVersion, _ := onlyField(meta.payload, typeMetaAPIVersion)
	kind, ok := onlyField(meta.payload, typeMetaKind)
	e.apiVersion, e.kind = apiVersion.payload, kind.payload
	return e, ok
}

// uvarintLen is the number of bytes that a varint takes.
func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// setResourceVersion returns a copy of a protobuf value whose object has the
// resource version; ok is false where only a decoder can tell how.
func setResourceVersion(value []byte, resourceVersion string) (out []byte, ok bool) {
	e, ok := openEnvelope(value)
	if !ok {
		return nil, false
	}
	meta, ok := onlyField(e.raw, objectMetadata)
	if !ok {
		return nil, false
	}
	version, ok := onlyField(meta.payload, metaResourceVersion)
	if !ok {
		return nil, false
	}
	oldVersion := version.end - version.start
	newVersion := 1 + uvarintLen(uint64(len(resourceVersion))) + len(resourceVersion)
	metaSize := len(meta.payload) - oldVersion + newVersion
	metaField := 1 + uvarintLen(uint64(metaSize)) + metaSize
	rawSize := len(e.raw) - (meta.end - meta.start) + metaField
	rawField := 1 + uvarintLen(uint64(rawSize)) + rawSize

	body := value[len(protobufPrefix):]
	out = make([]byte, 0, len(value)-(e.rawField.end-e.rawField.start)+rawField)
	out = append(out, protobufPrefix...)
	out = append(out, body[:e.rawField.start]...)
	out = appendTag(out, envelopeRaw, rawSize)
	out = append(out, e.raw[:meta.start]...)
	out = appendTag(out, objectMetadata, metaSize)
	out = append(out, meta.payload[:version.start]...)
	out = appendTag(out, metaResourceVersion, len(resourceVersion))
	out = append(out, resourceVersion...)
	out = append(out, meta.payload[version.end:]...)
	out = append(out, e.raw[meta.end:]...)
	return append(out, body[e.rawField.end:]...), true
}

// appendTag begins a bytes field; field numbers here are below 16.
func appendTag(b []byte, number, size int) []byte {
	return binary.AppendUvarint(append(b, byte(number<<3|wireBytes)), uint64(size))
}

// rawObject returns the object inside of a protobuf value.
func rawObject(value []byte) ([]byte, bool) {
	e, ok := openEnvelope(value)
	return e.raw, ok
}
