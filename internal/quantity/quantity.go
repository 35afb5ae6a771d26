package quantity

import (
	"errors"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxExponent is how many digits an exponent may have. The API caps quantities at 2^63-1 and rounds
	// them to 10^-9, so that two digits say all there is to say.
	maxExponent = 3
	// maxDigits is how many digits may follow each other otherwise.
	maxDigits = 1000
)

// ErrTooLong refuses a quantity.
var ErrTooLong = errors.New("quantities must have at most 1000 digits, and 3 in their exponents")

// Parse is resource.ParseQuantity for any text.
func Parse(text string) (resource.Quantity, error) {
	if IsTooLong(text) {
		return resource.Quantity{}, ErrTooLong
	}
	return resource.ParseQuantity(text)
}

// IsTooLong reports whether a text holds a number of too many digits, a quantity or not.
func IsTooLong[T string | []byte](text T) bool {
	_, found := nextLong(text, 0)
	return found
}

// run is a place of a text where digits follow each other.
type run struct {
	from, to int
	exponent bool
}

// nextLong finds the next digits that are too many, where none stand right before at. Zeros that an
// exponent begins with make it no longer.
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

// isExponent reports whether the digits that begin at a place are an exponent's.
func isExponent[T string | []byte](text T, at int) bool {
	if at > 0 && (text[at-1] == '+' || text[at-1] == '-') {
		at--
	}
	return at > 1 && text[at-1]|0x20 == 'e' && (digit(text[at-2]) || text[at-2] == '.')
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// InTree reports whether a string of decoded JSON holds a number of too many digits.
func InTree(value any) bool {
	switch v := value.(type) {
	case string:
		return IsTooLong(v)
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

// Check returns an error for a document with a number of too many digits where decode finds a quantity.
// It decodes a copy of the document in which these numbers have an exponent of 0: whether there is a quantity with
// an exponent is seen from the object. Documents without such numbers cost a look at their bytes.
func Check(doc []byte, decode func(doc []byte) (any, error)) error {
	r, found := nextLong(doc, 0)
	if !found {
		return nil
	}
	harmless := slices.Clone(doc)
	for ; found; r, found = nextLong(harmless, r.to) {
		from := r.from
		if !r.exponent {
			harmless[from+1] = 'e' // behind the first digit
			from += 2
		}
		for i := from; i < r.to; i++ {
			harmless[i] = '0'
		}
	}
	obj, err := decode(harmless)
	if err == nil && exponential(reflect.ValueOf(obj)) {
		err = ErrTooLong
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
