package schema

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Scan is what ScanStored finds in the JSON of an object: the places of what
// answers differ in from what is stored. Offsets are those of JSON values, with
// their quotes.
type Scan struct {
	APIVersion Span
	Metadata   Span
	// Version is where in the metadata a resourceVersion belongs, and whether a
	// field stands behind it.
	Version     int
	VersionLast bool
	// Name, Namespace, UID and Labels are empty where the object has none.
	Name, Namespace, UID, Labels Span
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// Of returns the bytes of the span.
func (s Span) Of(b []byte) []byte { return b[s.Start:s.End] }

// ScanStored reads the JSON of a stored object without decoding it. ok reports
// that decoding it by the schema, tidying it (Prune, DropNulls, and Default
// where defaults is set) and encoding it again would mean the same: nothing has
// to be removed, nothing filled in. Whatever is out of the ordinary – spaces,
// keys that are not in order, odd numbers, no generation – is not ok, so that
// decoders decide.
func ScanStored(value []byte, s *Schema, defaults bool) (found Scan, ok bool) {
	if s == nil {
		return found, false
	}
	sc := scanner{b: value, defaults: defaults, found: &found}
	sc.root(s)
	if sc.failed || found.APIVersion.End == 0 || found.Metadata.End == 0 || found.Version == 0 || !sc.generation {
		return found, false
	}
	if sc.i < len(value) && value[sc.i] == '\n' {
		sc.i++
	}
	return found, sc.i == len(value)
}

// scanDepth bounds how deep objects may nest; decoders take more.
const scanDepth = 200

// scanner goes through JSON in the form in which objects are stored: no spaces,
// keys in order.
type scanner struct {
	b          []byte
	i          int
	depth      int
	failed     bool
	stop       bool // after the member that was read last
	defaults   bool
	generation bool
	found      *Scan
}

func (sc *scanner) fail() { sc.failed = true }

// next is the next byte, 0 at the end.
func (sc *scanner) next() byte {
	if sc.i < len(sc.b) {
		return sc.b[sc.i]
	}
	return 0
}

func (sc *scanner) accept(c byte) bool {
	if sc.next() != c || c == 0 {
		return false
	}
	sc.i++
	return true
}

func (sc *scanner) expect(c byte) {
	if !sc.accept(c) {
		sc.fail()
	}
}

// members calls f for each member of an object, whose key has been read. Keys
// have to ascend, so that none is there twice.
func (sc *scanner) members(f func(key []byte, start int)) {
	sc.expect('{')
	if sc.depth++; sc.depth > scanDepth {
		sc.fail()
	}
	var last []byte
	for first := true; !sc.failed && !sc.stop && !sc.accept('}'); first = false {
		if !first {
			sc.expect(',')
		}
		start := sc.i
		key := sc.key()
		if sc.failed || !first && string(last) >= string(key) {
			sc.fail()
			return
		}
		last = key
		sc.expect(':')
		f(key, start)
	}
	sc.depth--
}

// elements calls f for each element of an array.
func (sc *scanner) elements(f func()) {
	sc.expect('[')
	if sc.depth++; sc.depth > scanDepth {
		sc.fail()
	}
	for first := true; !sc.failed && !sc.accept(']'); first = false {
		if !first {
			sc.expect(',')
		}
		f()
	}
	sc.depth--
}

// key reads a key, which has to be plain text.
func (sc *scanner) key() []byte {
	start := sc.i + 1
	if plain := sc.text(); !plain || sc.failed {
		sc.fail()
		return nil
	}
	return sc.b[start : sc.i-1]
}

// text reads a string; plain says that it has no escapes.
func (sc *scanner) text() (plain bool) {
	sc.expect('"')
	plain = true
	for !sc.failed {
		c := sc.next()
		switch {
		case c == '"':
			sc.i++
			return plain
		case c < ' ':
			sc.fail()
		case c == '\\':
			plain = false
			sc.escape()
		case c < utf8.RuneSelf:
			sc.i++
		default:
			r, n := utf8.DecodeRune(sc.b[sc.i:])
			if r == utf8.RuneError && n == 1 {
				sc.fail()
			}
			sc.i += n
		}
	}
	return plain
}

func (sc *scanner) escape() {
	if sc.i+1 >= len(sc.b) {
		sc.fail()
		return
	}
	switch sc.b[sc.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		sc.i += 2
	case 'u':
		if sc.i+6 > len(sc.b) {
			sc.fail()
			return
		}
		r, err := strconv.ParseUint(string(sc.b[sc.i+2:sc.i+6]), 16, 16)
		if err != nil || r >= 0xd800 && r < 0xe000 {
			sc.fail() // halves of surrogate pairs
		}
		sc.i += 6
	default:
		sc.fail()
	}
}

func (sc *scanner) literal(text string) {
	if len(sc.b)-sc.i < len(text) || string(sc.b[sc.i:sc.i+len(text)]) != text {
		sc.fail()
		return
	}
	sc.i += len(text)
}

// safeDigits is how many digits surely fit an int64.
const safeDigits = 18

// number accepts what an encoder would write again.
func (sc *scanner) number() {
	start := sc.i
	sc.accept('-')
	first := sc.i
	whole := true
	for ; sc.i < len(sc.b); sc.i++ {
		c := sc.b[sc.i]
		if c >= '0' && c <= '9' {
			continue
		}
		if c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			break
		}
		whole = false
	}
	digits := sc.i - first
	if whole && digits > 0 && digits <= safeDigits && (sc.b[first] != '0' || digits == 1 && first == start) {
		return
	}
	text := string(sc.b[start:sc.i])
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if strconv.FormatInt(n, 10) != text {
			sc.fail() // -0
		}
		return
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		sc.fail()
		return
	}
	if again, err := json.Marshal(f); err != nil || string(again) != text {
		sc.fail()
	}
}

// Value returns the bytes of the value at a path of names, nil where there is
// none. ok is false where the object is not in the form that it is stored in.
func Value(object []byte, path []string) (value []byte, ok bool) {
	sc := scanner{b: object}
	for _, name := range path {
		if sc.next() != '{' {
			return nil, true
		}
		sc.stop = false
		sc.members(func(key []byte, _ int) {
			if sc.stop = string(key) == name; !sc.stop {
				sc.any(true)
			}
		})
		if sc.failed || !sc.stop {
			return nil, !sc.failed
		}
	}
	start := sc.i
	sc.stop = false
	sc.any(true)
	return object[start:sc.i], !sc.failed
}

// Strings calls f for each member of an object of plain strings, as labels are. ok is
// false where it is none; f may have been called before.
func Strings(object []byte, f func(key, value []byte)) (ok bool) {
	sc := scanner{b: object}
	sc.members(func(key []byte, _ int) {
		if s := sc.plain(); s.End-s.Start >= 2 {
			f(key, object[s.Start+1:s.End-1])
		}
	})
	return !sc.failed
}

// any reads a value that no schema describes. Where nulls is not set it may not be
// null, nor hold null.
func (sc *scanner) any(nulls bool) {
	switch c := sc.next(); {
	case c == '{':
		sc.members(func([]byte, int) { sc.any(nulls) })
	case c == '[':
		sc.elements(func() { sc.any(nulls) })
	case c == 'n' && !nulls:
		sc.fail()
	default:
		sc.scalar()
	}
}

func (sc *scanner) scalar() {
	switch c := sc.next(); c {
	case '"':
		sc.text()
	case 't':
		sc.literal("true")
	case 'f':
		sc.literal("false")
	case 'n':
		sc.literal("null")
	default:
		sc.number()
	}
}
