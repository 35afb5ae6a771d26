package wire

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AppendString appends a JSON string.
func AppendString(dst []byte, s string) []byte {
	return append(appendInner(append(dst, '"'), s), '"')
}

// appendInner appends a JSON string without its quotes.
func appendInner(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			b, _ := json.Marshal(s) // never fails for a string
			return append(dst, b[1:len(b)-1]...)
		}
	}
	return append(dst, s...)
}

// AppendJSON encodes a value without a trailing newline.
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

// Bytes returns the slice.
func (w *Writer) Bytes() []byte { return w.b }

// TypeMetaPrefix returns the beginning of a JSON object with kind and apiVersion, which list items of Go types
// omit.
func TypeMetaPrefix(kind schema.GroupVersionKind) []byte {
	apiVersion, k := kind.ToAPIVersionAndKind()
	b := append(make([]byte, 0, 32+len(k)+len(apiVersion)), `{"kind":`...)
	b = append(AppendString(b, k), `,"apiVersion":`...)
	return append(AppendString(b, apiVersion), ',')
}
