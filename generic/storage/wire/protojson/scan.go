package protojson

import (
	"encoding/binary"
	"math"
)

// wireType is a wire type of protobuf.
type wireType uint8

const (
	varint    wireType = 0
	fixed64   wireType = 1
	delimited wireType = 2
	fixed32   wireType = 5
)

// value is the value of a field: number for numeric wire types, data for others.
type value struct {
	number uint64
	data   []byte
}

// zero reports whether the value is 0, false or empty.
func (v *value) zero() bool { return v.number == 0 && len(v.data) == 0 }

// next parses the field at index i. end is the index after it, or 0 if the bytes are not a message.
func next(b []byte, i int) (number uint64, t wireType, v value, end int) {
	tag, i := uvarint(b, i)
	if i == 0 {
		return 0, 0, v, 0
	}
	number, t = tag>>3, wireType(tag&7)
	switch t {
	case varint:
		v.number, end = uvarint(b, i)
	case delimited:
		size, at := uvarint(b, i)
		if at == 0 || size > uint64(len(b)-at) {
			return 0, 0, v, 0
		}
		end = at + int(size)
		v.data = b[at:end]
	case fixed64:
		if len(b)-i >= 8 {
			v.number, end = binary.LittleEndian.Uint64(b[i:]), i+8
		}
	case fixed32:
		if len(b)-i >= 4 {
			v.number, end = uint64(binary.LittleEndian.Uint32(b[i:])), i+4
		}
	}
	if number == 0 || number > math.MaxInt32 {
		return 0, 0, v, 0 // decoders use 32 bits of it
	}
	return number, t, v, end
}

// uvarint parses a varint. end is 0 if there is none.
func uvarint(b []byte, i int) (v uint64, end int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	v, n := binary.Uvarint(b[min(i, len(b)):])
	if n <= 0 {
		return 0, 0
	}
	return v, i + n
}
