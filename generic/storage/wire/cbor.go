package wire

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// cborTag is the self-described tag (RFC 8949, 3.4.6) at the beginning of a document.
var cborTag = [...]byte{0xd9, 0xd9, 0xf7}

// CBORMajor is a major type of CBOR, shifted to its position in an initial byte.
type CBORMajor byte

// Major types (RFC 8949, section 3.1).
const (
	CBORBytes CBORMajor = 2 << 5
	CBORArray CBORMajor = 4 << 5
	CBORMap   CBORMajor = 5 << 5
)

// AppendCBOR encodes a value as a document.
func AppendCBOR(dst []byte, v any) ([]byte, error) {
	return AppendCBORItem(append(dst, cborTag[:]...), v)
}

// AppendCBORItem encodes a value as a part of a document, without the tag.
func AppendCBORItem(dst []byte, v any) ([]byte, error) {
	b, err := direct.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(dst, b...), nil
}

// AppendCBORTag appends the tag at the beginning of a document.
func AppendCBORTag(dst []byte) []byte { return append(dst, cborTag[:]...) }

// IsCBOR reports whether a document is CBOR, if it begins with the tag.
func IsCBOR(b []byte) bool { return bytes.HasPrefix(b, cborTag[:]) }

// TrimCBORTag returns a document without its tag, for use as a part of another one.
func TrimCBORTag(b []byte) []byte { return bytes.TrimPrefix(b, cborTag[:]) }

// UnmarshalCBOR decodes a document.
func UnmarshalCBOR(body []byte, into any) error { return direct.Unmarshal(body, into) }

// AppendCBORHead appends the head of a string, array or map with n bytes or elements. n must be less than 2³².
func AppendCBORHead(dst []byte, major CBORMajor, n int) []byte {
	m := byte(major)
	switch {
	case n < 24:
		return append(dst, m|byte(n))
	case n < 1<<8:
		return append(dst, m|24, byte(n))
	case n < 1<<16:
		return append(dst, m|25, byte(n>>8), byte(n))
	}
	return append(dst, m|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendCBORString appends a text as a byte string, which is the encoding of names.
func AppendCBORString(dst []byte, s string) []byte {
	return append(AppendCBORHead(dst, CBORBytes, len(s)), s...)
}
