package quantity

import (
	"errors"
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

// Check returns an error for a JSON document with a number of too many digits where decode reads a quantity. It
// decodes a copy of the document in which these numbers are none, so that the first of them that is read as a
// quantity is an error, whatever becomes of it later: a member may be in the document twice. Documents without
// such numbers cost a look at their bytes.
func Check(doc []byte, decode func(doc []byte) error) error {
	r, found := nextLong(doc, 0)
	if !found {
		return nil
	}
	copied := slices.Clone(doc)
	for text := (texts{doc: doc}); found; r, found = nextLong(doc, r.to) {
		switch {
		case text.has(r.from):
			copied[r.to-1] = spoiled // the first ones may be those of an escape, as in \u1e12345
		case digit(copied[r.from]): // else the number is quoted already: both sides of its point are too long
			quote(copied, r)
		}
	}
	err := decode(copied)
	if errors.Is(err, resource.ErrFormatWrong) || errors.Is(err, resource.ErrSuffix) || errors.Is(err, resource.ErrNumeric) {
		return ErrTooLong
	}
	return err // also of a text that is only wrong in the copy, as a time: what is behind it was not read
}

// spoiled is in no quantity.
const spoiled = 'x'

// quote makes a text that is no quantity of the number that a run is part of, which stands by itself.
func quote(doc []byte, r run) {
	from, to := r.from, r.to
	for from > 0 && partOfNumber(doc[from-1]) {
		from--
	}
	for to < len(doc) && partOfNumber(doc[to]) {
		to++
	}
	for i := from; i < to; i++ {
		doc[i] = spoiled
	}
	doc[from], doc[to-1] = '"', '"'
}

func partOfNumber(c byte) bool { return digit(c) || c == '+' || c == '-' || c == '.' || c|0x20 == 'e' }

// texts tells which places of a document are inside of its texts. Places are asked for in order.
type texts struct {
	doc    []byte
	at     int
	inside bool
}

func (t *texts) has(place int) bool {
	for ; t.at < place; t.at++ {
		switch t.doc[t.at] {
		case '"':
			t.inside = !t.inside
		case '\\':
			t.at++ // an escape, which only texts have
		}
	}
	return t.inside
}
