package wire

import "encoding/binary"

// Wire types of protocol buffers. Groups are not in use.
const (
	protoVarint = 0
	protoFixed8 = 1
	protoBytes  = 2
	protoFixed4 = 5
)

// maxNumber is the greatest number that a field may have; of greater ones, decoders drop bits.
const maxNumber = 1<<29 - 1

// Field is a field of a protobuf message, as it lies in its bytes.
type Field struct {
	Number     uint64
	Payload    []byte // of length-delimited fields, nil for others
	Start, End int    // the whole field, tag included
	kind       uint64
}

// NextField reads the field that begins at offset i. ok is false where the
// bytes are no protobuf message.
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

// Zero reports whether the field is a 0, false, or empty: what a Go field that is
// no pointer is encoded as when it is not set. b is the message.
func (f *Field) Zero(b []byte) bool {
	if f.kind == protoBytes {
		return len(f.Payload) == 0
	}
	return b[f.End-1] == 0
}

// OnlyField finds the one length-delimited field of a number. ok is false where
// there is none, or several, whose merge is for a real decoder.
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

// MapEntry reads an entry of a map of strings: an absent key or value is empty,
// the last of several counts.
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

// AppendTag begins a length-delimited field of size bytes. The number is below
// 16, as all in use are.
func AppendTag(dst []byte, number, size int) []byte {
	return binary.AppendUvarint(append(dst, byte(number<<3|protoBytes)), uint64(size))
}

// AppendBytes writes a length-delimited field.
func AppendBytes(dst []byte, number int, b []byte) []byte {
	return append(AppendTag(dst, number, len(b)), b...)
}

// lengthRoom is how many bytes OpenMessage keeps free for the length: what a varint of
// 32 bits takes at most.
const lengthRoom = 5

// OpenMessage begins a message whose size is not known yet, as a field of another. The
// caller writes it behind the result, and then calls CloseMessage with the length of that.
func OpenMessage(dst []byte, number uint64) []byte {
	dst = binary.AppendUvarint(dst, number<<3|protoBytes)
	return append(dst, make([]byte, lengthRoom)...)
}

// CloseMessage ends the message that begins at start. Its length is a longer varint than
// it needs to be, which all decoders read.
func CloseMessage(dst []byte, start int) {
	size := len(dst) - start
	for i := start - lengthRoom; i < start-1; i++ {
		dst[i] = byte(size) | 0x80
		size >>= 7
	}
	dst[start-1] = byte(size)
}

// BytesSize is the number of bytes that a length-delimited field of size bytes
// takes, tag and length included.
func BytesSize(size int) int { return 1 + varintSize(uint64(size)) + size }

// varintSize is the number of bytes that a varint takes.
func varintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
