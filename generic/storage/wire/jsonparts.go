package wire

import (
	"bytes"
	"iter"
)

// Functions that find the parts of JSON in its bytes, without decoding it. They expect
// valid JSON, and return something without a meaning, but within bounds, for other input.

// NextJSON returns where the next member of an object, or the next element of a list, begins
// at or after i: len(b) where there is none.
func NextJSON(b []byte, i int) int {
	for i < len(b) && (isSpace(b[i]) || b[i] == ',' || b[i] == '}' || b[i] == ']') {
		i++
	}
	return i
}

// JSONMember reads the member of an object that begins at i: its key as it stands between the
// quotes, with escapes, and its value. end is behind it. ok is false where there is none.
func JSONMember(b []byte, i int) (key, value []byte, end int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return nil, nil, i, false
	}
	end = skipString(b, i)
	if end == 0 {
		return nil, nil, i, false
	}
	key = b[i+1 : end-1]
	for end < len(b) && (isSpace(b[end]) || b[end] == ':') {
		end++
	}
	start := end
	end = SkipJSON(b, start)
	return key, b[start:end], end, end > start
}

// JSONMembers yields the members of an object, as JSONMember reads them; none of what is no object.
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

// JSONElements yields the elements of a list.
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

// skipString returns the end of the string that begins at i, 0 if it has none.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"') // most texts are long, and have no escapes
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

// SkipJSON returns the end of the value that begins at i.
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
				return i // of what is around a number or word
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
