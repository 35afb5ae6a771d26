package protojson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaf writes the message of a type with an own JSON encoding. zero is set for the type's zero value in the
// sense of omitzero. ok is false if the message cannot be written.
type leaf func(dst, message []byte) (_ []byte, zero, ok bool)

var (
	timeType     = reflect.TypeFor[metav1.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
	fieldsType   = reflect.TypeFor[metav1.FieldsV1]()
)

// leafOf returns the leaf of a type: a fast one, or one that decodes and encodes.
func leafOf(t reflect.Type) (leaf, error) {
	switch t {
	case timeType:
		return appendTime, nil
	case fieldsType:
		return appendFields, nil
	}
	if !readsItself(t) {
		return nil, fmt.Errorf("%s has no message in protobuf", t)
	}
	return func(dst, message []byte) ([]byte, bool, bool) {
		return appendValue(dst, message, empty(t).Interface().(unmarshaler))
	}, nil
}

// empty returns a pointer to a value to decode into. For a list, that value is not nil.
func empty(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if t.Kind() == reflect.Slice {
		v.Elem().Set(reflect.MakeSlice(t, 0, 0))
	}
	return v
}

// appendValue decodes a message into v and appends the JSON of v.
func appendValue(dst, message []byte, v unmarshaler) ([]byte, bool, bool) {
	if v.Unmarshal(message) != nil {
		return dst, false, false
	}
	b, err := json.Marshal(v)
	return append(dst, b...), false, err == nil
}

// Field numbers: the seconds and nanoseconds of a Time, and the bytes of FieldsV1.
const (
	timeSeconds = 1
	timeNanos   = 2
	fieldsRaw   = 1
)

// appendTime appends a metav1.Time, which has a precision of seconds.
func appendTime(dst, message []byte) ([]byte, bool, bool) {
	if len(message) == 0 {
		return append(dst, "null"...), true, true
	}
	var seconds int64
	for i := 0; i < len(message); {
		number, wire, v, end := next(message, i)
		if end == 0 || wire != varint || number != timeSeconds && number != timeNanos {
			return dst, false, false
		}
		if number == timeSeconds {
			seconds = int64(v.number)
		}
		i = end
	}
	at := time.Unix(seconds, 0).UTC()
	if at.IsZero() {
		return append(dst, "null"...), true, true
	}
	dst = append(dst, '"')
	dst = at.AppendFormat(dst, time.RFC3339)
	return append(dst, '"'), false, true
}

// appendQuantity appends a quantity in canonical form.
func appendQuantity(dst, message []byte) (_ []byte, ok bool) {
	var q resource.Quantity
	if q.Unmarshal(message) != nil {
		return dst, false
	}
	b, err := q.MarshalJSON() // needs no escaping
	return append(dst, b...), err == nil
}

// appendFields appends the JSON of FieldsV1. It copies the bytes if they only have nested objects that an
// encoder would not change.
func appendFields(dst, message []byte) ([]byte, bool, bool) {
	number, wire, v, end := next(message, 0)
	if number == fieldsRaw && wire == delimited && end == len(message) && onlyObjects(v.data) {
		return append(dst, v.data...), false, true
	}
	return appendValue(dst, message, &metav1.FieldsV1{})
}

// onlyObjects reports whether text is a JSON object that only contains objects, and neither spaces nor
// characters that encoding/json escapes.
func onlyObjects(text []byte) bool {
	depth, i := 0, 0
	for {
		if i >= len(text) || text[i] != '{' { // beginning of a value
			return false
		}
		depth, i = depth+1, i+1
		if i < len(text) && text[i] == '}' {
			for depth > 0 && i < len(text) && text[i] == '}' {
				depth, i = depth-1, i+1
			}
			if depth == 0 {
				return i == len(text)
			}
			if i >= len(text) || text[i] != ',' {
				return false
			}
			i++
		}
		if i = plainKey(text, i); i == 0 {
			return false
		}
	}
}

// plainKey returns the end of the key and colon at index i, or 0 if there are none.
func plainKey(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return 0
	}
	for i++; i < len(text) && text[i] != '"'; i++ {
		switch c := text[i]; {
		case c == '\\': // escaped quotes occur in keys of list items
			if i++; i >= len(text) || text[i] != '"' && text[i] != '\\' {
				return 0
			}
		case escaped[c]:
			return 0
		}
	}
	if i+1 >= len(text) || text[i+1] != ':' {
		return 0
	}
	return i + 2
}

// escaped are the bytes that are not copied to a JSON string unchanged.
var escaped = func() (t [256]bool) {
	for c := range t {
		t[c] = c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&'
	}
	return t
}()
