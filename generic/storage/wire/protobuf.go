package wire

import "encoding/binary"

// Wire types of protocol buffers. Groups are not used.
const (
	protoVarint = 0
	protoFixed8 = 1
	protoBytes  = 2
	protoFixed4 = 5
)

// maxNumber is the largest valid field number. Decoders truncate larger ones.
const maxNumber = 1<<29 - 1

// Field is a field of an encoded protobuf message.
type Field struct {
	Number     uint64
	Payload    []byte // of length-delimited fields; nil for others
	Start, End int    // of the whole field with its tag
	kind       uint64
}

// NextField parses the field at offset i. ok is false if the bytes are not a protobuf message.
func NextField(b []byte, i int) (f Field, ok bool) {
	f.Start = i
	tag, n := binary.Uvarint(b[i:])
	if n <= 0 {
		return f, false
	}
	i += n
	f.Number, f.kind = tag>>3, tag&7
	switch f.kind {
	case protoVarint:
		if _, n = binary.Uvarint(b[i:]); n <= 0 {
			return f, false
		}
		i += n
	case protoFixed8:
		i += 8
	case protoFixed4:
		i += 4
	case protoBytes:
		size, n := binary.Uvarint(b[i:])
		if n <= 0 || size > uint64(len(b)-i-n) {
			return f, false
		}
		i += n
		f.Payload = b[i : i+int(size) : i+int(size)]
		i += int(size)
	default:
		return f, false
	}
	f.End = i
	return f, i <= len(b) && f.Number > 0 && f.Number <= maxNumber
}

// Zero reports whether the value is 0, false or empty, which is the encoding of an unset Go field that is not a
// pointer. b is the message.
func (f *Field) Zero(b []byte) bool {
	if f.kind == protoBytes {
		return len(f.Payload) == 0
	}
	return b[f.End-1] == 0
}

// OnlyField returns the length-delimited field with a number. ok is false if there is none, or if there are
// several, which a decoder would merge.
func OnlyField(b []byte, number uint64) (found Field, ok bool) {
	for i := 0; i < len(b); {
		f, valid := NextField(b, i)
		if !valid {
			return found, false
		}
		if f.Number == number {
			if ok || f.kind != protoBytes {
				return found, false
			}
			found, ok = f, true
		}
		i = f.End
	}
	return found, ok
}

// twoFields returns the length-delimited fields with two numbers, the zero Field for an absent one. ok is false if
// there are several of one.
func twoFields(b []byte, first, second uint64) (one, two Field, ok bool) {
	for i := 0; i < len(b); {
		f, valid := NextField(b, i)
		if !valid {
			return one, two, false
		}
		i = f.End
		found := &one
		switch f.Number {
		case first:
		case second:
			found = &two
		default:
			continue
		}
		if found.Number > 0 || f.kind != protoBytes {
			return one, two, false
		}
		*found = f
	}
	return one, two, true
}

// MapEntry parses an entry of a map of strings. An absent key or value is empty. If there are several, the last
// one counts.
func MapEntry(b []byte) (key, value []byte, ok bool) {
	for i := 0; i < len(b); {
		f, ok := NextField(b, i)
		if !ok {
			return nil, nil, false
		}
		i = f.End
		switch f.Number {
		case 1:
			key = f.Payload
		case 2:
			value = f.Payload
		}
	}
	return key, value, true
}

// AppendTag appends the tag and length of a length-delimited field of size bytes. The number must be less than
// 16.
func AppendTag(dst []byte, number, size int) []byte {
	return binary.AppendUvarint(append(dst, byte(number<<3|protoBytes)), uint64(size))
}

// AppendBytes appends a length-delimited field.
func AppendBytes(dst []byte, number int, b []byte) []byte {
	return append(AppendTag(dst, number, len(b)), b...)
}

// lengthRoom is the space that OpenMessage reserves for the length: the maximum size of a 32-bit varint.
const lengthRoom = 5

// OpenMessage begins a length-delimited field whose size is unknown. The caller appends the message and then
// calls CloseMessage with the length of OpenMessage's result.
func OpenMessage(dst []byte, number uint64) []byte {
	dst = binary.AppendUvarint(dst, number<<3|protoBytes)
	return append(dst, make([]byte, lengthRoom)...)
}

// CloseMessage ends the message that begins at start. Its length is a padded varint, which all decoders accept.
func CloseMessage(dst []byte, start int) {
	size := len(dst) - start
	for i := start - lengthRoom; i < start-1; i++ {
		dst[i] = byte(size) | 0x80
		size >>= 7
	}
	dst[start-1] = byte(size)
}

// BytesSize returns the encoded size of a length-delimited field of size bytes, with tag and length.
func BytesSize(size int) int { return 1 + varintSize(uint64(size)) + size }

// varintSize returns the encoded size of a varint.
func varintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
