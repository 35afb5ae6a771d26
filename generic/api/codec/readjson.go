package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/storage/wire"
)

// ReadJSON decodes a document into an empty object as the library does. It returns false, with the object undefined,
// for a document that is not plainly right. It is for stored documents, whose depth is bounded.
func ReadJSON(doc []byte, obj runtime.Object) bool {
	return readJSON(doc, obj, shapeOf(reflect.TypeOf(obj)))
}

// readJSON decodes a document into an empty object as the library's strict decoder does, in a third of its time. It
// returns false for whatever is not plainly right, such as unknown, duplicate or differently spelled fields; the object
// is undefined then, and the library has the errors. The shape is that of the object's type.
func readJSON(doc []byte, obj runtime.Object, s *shape) bool {
	r := reader{doc: doc}
	return s.read(&r, reflect.ValueOf(obj)) && r.next() == 0 && r.at == len(doc)
}

// reader is a position in a document. Callers bound the depth of the document.
type reader struct {
	doc []byte
	at  int
}

// next skips white space and returns the character after it, 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.doc); r.at++ {
		if c := r.doc[r.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// skip moves behind a character if it is the next one.
func (r *reader) skip(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// literal moves behind a text if it is next.
func (r *reader) literal(text string) bool {
	if r.next() != text[0] || len(r.doc)-r.at < len(text) || string(r.doc[r.at:r.at+len(text)]) != text {
		return false
	}
	r.at += len(text)
	return true
}

// text reads a string, which must be valid UTF-8. escaped reports whether it has escapes, which remain.
func (r *reader) text() (text []byte, escaped, ok bool) {
	if !r.skip('"') {
		return nil, false, false
	}
	start, high := r.at, false
	for ; r.at < len(r.doc); r.at++ {
		switch c := r.doc[r.at]; {
		case c == '"':
			text = r.doc[start:r.at]
			r.at++
			return text, escaped, !high || utf8.Valid(text)
		case c == '\\':
			escaped = true
			r.at++
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	return nil, false, false
}

// string reads a string.
func (r *reader) string() (s string, ok bool) {
	start := r.at
	text, escaped, ok := r.text()
	if !ok || !escaped {
		return string(text), ok
	}
	return s, json.Unmarshal(r.doc[start:r.at], &s) == nil
}

// raw reads any value as it is.
func (r *reader) raw() ([]byte, bool) {
	quote := r.next() == '"'
	start := r.at
	if quote {
		if _, escaped, ok := r.text(); ok && !escaped {
			return r.doc[start:r.at], true
		}
	}
	r.at = wire.SkipJSON(r.doc, start)
	value := r.doc[start:r.at]
	return value, json.Valid(value)
}

// read reads a value into v, which must be zero and settable, or a pointer to an empty object.
func (s *shape) read(r *reader, v reflect.Value) bool {
	if s.custom {
		value, ok := r.raw()
		return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(value) == nil
	}
	if s.kind != reflect.Invalid && r.next() == 'n' {
		return r.literal("null")
	}
	switch s.kind {
	case reflect.String:
		text, ok := r.string()
		v.SetString(text)
		return ok
	case reflect.Bool:
		v.SetBool(r.literal("true"))
		return v.Bool() || r.literal("false")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.integer(v)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return s.elem.read(r, v.Elem())
	case reflect.Slice:
		return s.readSlice(r, v)
	case reflect.Map:
		return s.readMap(r, v)
	case reflect.Struct:
		return s.readStruct(r, v)
	}
	return false
}

func (r *reader) integer(v reflect.Value) bool {
	start := r.at
	for r.at < len(r.doc) && (r.doc[r.at] == '-' || r.doc[r.at] >= '0' && r.doc[r.at] <= '9') {
		r.at++
	}
	value := r.doc[start:r.at]
	if digits := bytes.TrimPrefix(value, []byte("-")); len(digits) > 1 && digits[0] == '0' {
		return false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func (s *shape) readSlice(r *reader, v reflect.Value) bool {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		text, escaped, ok := r.text()
		if !ok || escaped {
			return false
		}
		b, err := base64.StdEncoding.AppendDecode([]byte{}, text)
		v.SetBytes(b)
		return err == nil
	}
	if !r.skip('[') {
		return false
	}
	if r.skip(']') {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return true
	}
	for n := 0; ; n++ {
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		if !s.elem.read(r, v.Index(n)) {
			return false
		}
		if !r.skip(',') {
			return r.skip(']')
		}
	}
}

func (s *shape) readMap(r *reader, v reflect.Value) bool {
	if !r.skip('{') {
		return false
	}
	v.Set(reflect.MakeMap(v.Type()))
	if r.skip('}') {
		return true
	}
	key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for {
		name, ok := r.string()
		key.SetString(name)
		if !ok || v.MapIndex(key).IsValid() || !r.skip(':') || !s.elem.read(r, elem) {
			return false
		}
		v.SetMapIndex(key, elem)
		elem.SetZero()
		if !r.skip(',') {
			return r.skip('}')
		}
	}
}

func (s *shape) readStruct(r *reader, v reflect.Value) bool {
	if !r.skip('{') {
		return false
	}
	if r.skip('}') {
		return true
	}
	for seen := uint64(0); ; {
		name, escaped, ok := r.text()
		if !ok || escaped || !r.skip(':') {
			return false
		}
		i, known := s.byName[string(name)]
		if !known || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		if f := &s.fields[i]; !f.shape.read(r, f.of(v)) {
			return false
		}
		if !r.skip(',') {
			return r.skip('}')
		}
	}
}
