package handlers

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// cborTag begins a CBOR document that says what it is.
var cborTag = []byte{0xd9, 0xd9, 0xf7}

// Major types of CBOR.
const (
	cborArray = 4 << 5
	cborMap   = 5 << 5
)

// appendCBOR writes a value as a document of its own.
func appendCBOR(dst []byte, v any) ([]byte, error) {
	b, err := direct.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(append(dst, cborTag...), b...), nil
}

func unmarshalCBOR(body []byte, into any) error { return direct.Unmarshal(body, into) }

// appendCBORHead begins an array or map of n elements.
func appendCBORHead(dst []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return append(dst, major|25, byte(n>>8), byte(n))
	}
	return append(dst, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// cborEnvelope puts a list around items, which lose their tags.
func cborEnvelope(kind schema.GroupVersionKind, items [][]byte, m metav1.ListMeta) (*envelope, error) {
	for i, b := range items {
		items[i] = bytes.TrimPrefix(b, cborTag)
	}
	head := appendCBORHead(append(make([]byte, 0, 192), cborTag...), cborMap, 4)
	var err error
	for _, v := range []any{"kind", kind.Kind, "apiVersion", kind.GroupVersion().String(), "metadata", m, "items"} {
		var b []byte
		if b, err = direct.Marshal(v); err != nil {
			return nil, err
		}
		head = append(head, b...)
	}
	return &envelope{head: appendCBORHead(head, cborArray, len(items)), items: items}, nil
}

// Members of watch events, as CBOR byte strings, which is how names are written.
var (
	cborType   = append([]byte{2<<5 | 4}, "type"...)
	cborObject = append([]byte{2<<5 | 6}, "object"...)
)

// frameCBOR writes a watch event. Nothing is needed between the items of a
// sequence.
func frameCBOR(dst []byte, t string, obj []byte) []byte {
	dst = appendCBORHead(append(dst, cborTag...), cborMap, 2)
	dst = append(dst, cborType...)
	dst = append(append(dst, 2<<5|byte(len(t))), t...)
	dst = append(dst, cborObject...)
	return append(dst, bytes.TrimPrefix(obj, cborTag)...)
}
