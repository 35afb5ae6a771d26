package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxExponent bounds the digits of an exponent. The API caps quantities at 2^63-1 and rounds them to 10^-9, so
	// two digits suffice.
	maxExponent = 3
	// maxDigits bounds other sequences of digits.
	maxDigits = 1000
)

// ErrTooLong is the error for quantities with excessive digits.
var ErrTooLong = errors.New("quantities must have at most 1000 digits, and 3 in their exponents")

// Parse is like resource.ParseQuantity, but safe for untrusted texts.
func Parse(text string) (resource.Quantity, error) {
	if IsTooLong(text) {
		return resource.Quantity{}, ErrTooLong
	}
	return resource.ParseQuantity(text)
}

// IsTooLong reports whether a text contains a number with excessive digits, whether it is a quantity or not.
func IsTooLong[T string | []byte](text T) bool {
	_, found := nextLong(text, 0)
	return found
}

// mayHold reports whether a JSON document, or a string of one, has a number with excessive digits in a text that may
// be a quantity. Texts with other letters are none, such as UIDs, a third of which have digits after an "e".
func mayHold[T string | []byte](doc T) bool {
	for at := 0; ; {
		r, found := nextLong(doc, at)
		if !found {
			return false
		}
		from, to := r.from, r.to
		for from > 0 && ofQuantity(doc[from-1]) {
			from--
		}
		for to < len(doc) && ofQuantity(doc[to]) {
			to++
		}
		if (from == 0 || !letter(doc[from-1])) && (to == len(doc) || !letter(doc[to])) {
			return true
		}
		at = to
	}
}

// ofQuantity reports the characters of quantities.
func ofQuantity(c byte) bool { return digit(c) || strings.IndexByte("+-.eEiKMGTPnumk", c) >= 0 }

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// run is a sequence of digits in a text.
type run struct {
	from, to int
	exponent bool
}

// nextLong returns the next excessive sequence of digits from at; the text must have no digit right before at.
// Leading zeros of an exponent do not count.
func nextLong[T string | []byte](text T, at int) (r run, found bool) {
	for i := at; i < len(text); i++ {
		if !digit(text[i]) {
			continue
		}
		r, most := run{from: i, exponent: isExponent(text, i)}, maxDigits
		for i < len(text) && digit(text[i]) {
			i++
		}
		r.to = i
		if r.exponent {
			most = maxExponent
			for r.from < r.to && text[r.from] == '0' {
				r.from++
			}
		}
		if r.to-r.from > most {
			return r, true
		}
	}
	return run{}, false
}

// isExponent reports whether the digits that start at a position are an exponent.
func isExponent[T string | []byte](text T, at int) bool {
	if at > 0 && (text[at-1] == '+' || text[at-1] == '-') {
		at--
	}
	return at > 1 && text[at-1]|0x20 == 'e' && (digit(text[at-2]) || text[at-2] == '.')
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// InTree reports whether a string in decoded JSON may be a quantity with excessive digits.
func InTree(value any) bool {
	switch v := value.(type) {
	case string:
		return mayHold(v)
	case map[string]any:
		for _, each := range v {
			if InTree(each) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, InTree)
	}
	return false
}

// Check returns ErrTooLong if a JSON document has a number with excessive digits in a field that is a quantity in
// the Go type. It checks every occurrence of a duplicate field, because decoders read all of them. It accepts
// invalid JSON, which decoders reject. Documents without such texts only cost a scan of their bytes.
func Check(doc []byte, t reflect.Type) error {
	if !mayHold(doc) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	w := walk{d, map[reflect.Type]map[string]reflect.Type{}}
	if err := w.value(t); errors.Is(err, ErrTooLong) {
		return err
	}
	return nil
}

// walk traverses a document along a Go type.
type walk struct {
	*json.Decoder
	fields map[reflect.Type]map[string]reflect.Type // of structs, by JSON name
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// value reads a value of a type.
func (w walk) value(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.Token()
	switch v := token.(type) {
	case string:
		err = tooLong(v, t)
	case json.Number:
		err = tooLong(string(v), t)
	case json.Delim:
		for err == nil && w.More() {
			err = w.part(v, t)
		}
		if err == nil {
			_, err = w.Token() // the closing delimiter
		}
	}
	return err
}

func tooLong(text string, t reflect.Type) error {
	if t == quantityType && IsTooLong(text) {
		return ErrTooLong
	}
	return nil
}

// part reads an element of a list or a member of an object.
func (w walk) part(of json.Delim, t reflect.Type) error {
	var inner reflect.Type
	if of == '{' {
		key, err := w.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		switch t.Kind() {
		case reflect.Struct:
			inner = w.field(t, name)
		case reflect.Map:
			inner = t.Elem()
		}
	} else if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		inner = t.Elem()
	}
	if inner == nil || inner.Kind() == reflect.Interface {
		return w.skip()
	}
	return w.value(inner)
}

// skip reads a value that contains no quantities, without recursion.
func (w walk) skip() error {
	for depth := 0; ; {
		token, err := w.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// field returns the type of a struct's field by JSON name, nil if there is none.
func (w walk) field(t reflect.Type, name string) reflect.Type {
	fields, known := w.fields[t]
	if !known {
		fields = map[string]reflect.Type{}
		addFields(fields, t)
		w.fields[t] = fields
	}
	return fields[name]
}

func addFields(to map[string]reflect.Type, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			addFields(to, f.Type)
		case name == "":
			to[f.Name] = f.Type
		default:
			to[name] = f.Type
		}
	}
}
