package wire

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AppendString writes a JSON string.
func AppendString(dst []byte, s string) []byte {
	return append(appendInner(append(dst, '"'), s), '"')
}

// appendInner writes what stands between the quotes of a JSON string.
func appendInner(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			b, _ := json.Marshal(s) // a string always encodes
			return append(dst, b[1:len(b)-1]...)
		}
	}
	return append(dst, s...)
}

// AppendJSON encodes a value, without a newline at the end.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	w := &Writer{b: dst}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	return w.b[:len(w.b)-1], nil
}

// Writer is an io.Writer that appends to a slice.
type Writer struct{ b []byte }

// NewWriter returns a Writer that appends to dst.
func NewWriter(dst []byte) *Writer { return &Writer{dst} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// Bytes returns the slice with what was written.
func (w *Writer) Bytes() []byte { return w.b }

// TypeMetaPrefix returns how JSON of an object of a Go type begins: with the
// kind and apiVersion that items of lists leave out.
func TypeMetaPrefix(kind schema.GroupVersionKind) []byte {
	apiVersion, k := kind.ToAPIVersionAndKind()
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, k, apiVersion)
}
