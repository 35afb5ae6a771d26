package wire

import (
	"bytes"
	"iter"
)

// The following functions find parts of JSON without decoding it. For invalid JSON their result is unspecified,
// but within bounds.

// NextJSON returns the index at or after i of the next member of an object or element of a list. It returns
// len(b) if there is none.
func NextJSON(b []byte, i int) int {
	for i < len(b) && (isSpace(b[i]) || b[i] == ',' || b[i] == '}' || b[i] == ']') {
		i++
	}
	return i
}

// SkipJSONSpace returns the index at or after i of what is no space and no comma, or len(b). Unlike NextJSON it stops
// at the end of an object or list.
func SkipJSONSpace(b []byte, i int) int {
	for i < len(b) && (isSpace(b[i]) || b[i] == ',') {
		i++
	}
	return i
}

// JSONMember returns the object member at index i: its key without quotes but with escapes, and its value. end
// is the index after it. ok is false if there is none.
func JSONMember(b []byte, i int) (key, value []byte, end int, ok bool) {
	key, start, ok := JSONKey(b, i)
	if !ok {
		return nil, nil, i, false
	}
	end = SkipJSON(b, start)
	return key, b[start:end], end, end > start
}

// JSONKey is JSONMember without the value, which begins at index start.
func JSONKey(b []byte, i int) (key []byte, start int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return nil, i, false
	}
	end := skipString(b, i)
	if end == 0 {
		return nil, i, false
	}
	key = b[i+1 : end-1]
	for end < len(b) && (isSpace(b[end]) || b[end] == ':') {
		end++
	}
	return key, end, true
}

// JSONMembers iterates over the members of an object, like JSONMember. It yields nothing if the input is not an
// object.
func JSONMembers(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(object) == 0 || object[0] != '{' {
			return
		}
		for i := NextJSON(object, 1); i < len(object); {
			key, value, end, ok := JSONMember(object, i)
			if !ok || !yield(key, value) {
				return
			}
			i = NextJSON(object, end)
		}
	}
}

// MemberOf returns the first member of an object with a name, nil if there is none. It does not read what follows.
func MemberOf(object []byte, name string) []byte {
	for key, value := range JSONMembers(object) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// JSONElements iterates over the elements of a list.
func JSONElements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := NextJSON(list, 1); i < len(list); {
			end := SkipJSON(list, i)
			if end == i || !yield(list[i:end]) {
				return
			}
			i = NextJSON(list, end)
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipString returns the end of the string at index i, or 0 if it does not end.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"') // fast for long strings without escapes
		if n < 0 {
			return 0
		}
		escapes := 0
		for escapes < n && b[i+n-1-escapes] == '\\' {
			escapes++
		}
		i += n + 1
		if escapes%2 == 0 {
			return i
		}
	}
	return 0
}

// SkipJSON returns the end of the value at index i.
func SkipJSON(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			if i = skipString(b, i); i == 0 {
				return len(b)
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the object or list around a number or literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
