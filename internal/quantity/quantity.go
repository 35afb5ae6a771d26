package quantity

import (
	"errors"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxDigits is how many digits an exponent may have. The API caps quantities at 2^63-1 and rounds them to
// 10^-9, so that two digits say all there is to say.
const maxDigits = 3

// ErrExponent refuses a quantity.
var ErrExponent = errors.New("the exponents of quantities must have at most 3 digits")

// Parse is resource.ParseQuantity for any text.
func Parse(text string) (resource.Quantity, error) {
	if HasLongExponent(text) {
		return resource.Quantity{}, ErrExponent
	}
	return resource.ParseQuantity(text)
}

// HasLongExponent reports whether a text holds an exponent of too many digits, of whatever number.
func HasLongExponent[T string | []byte](text T) bool {
	from, _ := nextLong(text, 0)
	return from >= 0
}

// nextLong finds the digits of the next exponent that has too many; from is -1 where there is none.
func nextLong[T string | []byte](text T, at int) (from, to int) {
	for i := at + 1; i < len(text); i++ {
		if text[i]|0x20 != 'e' || !digit(text[i-1]) && text[i-1] != '.' {
			continue
		}
		from = i + 1
		if from < len(text) && (text[from] == '+' || text[from] == '-') {
			from++
		}
		for from < len(text) && text[from] == '0' { // which make a number no longer
			from++
		}
		for to = from; to < len(text) && digit(text[to]); to++ {
		}
		if to-from > maxDigits {
			return from, to
		}
	}
	return -1, -1
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// InTree reports whether a string of decoded JSON holds an exponent of too many digits.
func InTree(value any) bool {
	switch v := value.(type) {
	case string:
		return HasLongExponent(v)
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

// Check returns an error for a document with an exponent of too many digits where decode finds a quantity.
// It decodes a copy of the document in which these exponents are 0: whether there is a quantity with an
// exponent is seen from the object. Documents without such an exponent cost a look at their bytes.
func Check(doc []byte, decode func(doc []byte) (any, error)) error {
	from, to := nextLong(doc, 0)
	if from < 0 {
		return nil
	}
	harmless := slices.Clone(doc)
	for ; from >= 0; from, to = nextLong(harmless, to) {
		for i := from; i < to; i++ {
			harmless[i] = '0'
		}
	}
	obj, err := decode(harmless)
	if err == nil && exponential(reflect.ValueOf(obj)) {
		err = ErrExponent
	}
	return err
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// exponential reports whether a value holds a quantity with an exponent.
func exponential(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return exponential(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if exponential(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if exponential(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		if v.Type() == quantityType {
			return resource.Format(v.FieldByName("Format").String()) == resource.DecimalExponent
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && exponential(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// Within reports whether values of a type may hold quantities.
func Within(t reflect.Type) bool { return search{}.within(t) }

// search are the types that were looked at.
type search map[reflect.Type]bool

func (seen search) within(t reflect.Type) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return seen.within(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && seen.within(f.Type) {
				return true
			}
		}
		return t == quantityType
	}
	return false
}
