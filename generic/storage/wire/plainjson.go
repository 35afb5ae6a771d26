package wire

import "bytes"

const (
	// maxPlainDepth and maxPlainString are below what a YAML parser limits.
	maxPlainDepth  = 64
	maxPlainString = 1000
	// maxPlainDigits fit into 64 bits.
	maxPlainDigits = 18
)

// IsPlainJSON reports whether a body that is valid JSON surely says the same when it
// is read as YAML. It need not be valid JSON; whoever parses it finds out. What
// the two read in different ways, or might, is not plain:
//
//   - characters other than printable ASCII, spaces and newlines, some of which
//     YAML refuses, folds or breaks lines at;
//   - escapes that only one of them has, or that stand for half a character;
//   - numbers with a fraction or exponent, or with more digits than 64 bits hold,
//     which lose their form on the way through YAML;
//   - a colon that does not follow its key at once;
//   - the key "<<", which merges, and keys too long for YAML.
func IsPlainJSON(body []byte) bool {
	if len(body) == 0 || body[0] != '{' || bytes.Contains(body, []byte("<<")) {
		return false
	}
	depth := 0
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			n := plainString(body[i:])
			if n == 0 {
				return false
			}
			i += n
		case c == '-' || '0' <= c && c <= '9':
			n := plainNumber(body[i:])
			if n == 0 {
				return false
			}
			i += n
		case c == '{' || c == '[':
			if depth++; depth > maxPlainDepth {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == ':' && body[i-1] == '"' || c == ',' || c == ' ' || c == '\n' || 'a' <= c && c <= 'z':
			i++
		default:
			return false
		}
	}
	return true
}

// plainString returns the length of a string with its quotes, 0 where it is not
// plain. Long strings are well as values, and as keys far longer than any.
func plainString(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if i > maxPlainString && i+1 < len(b) && b[i+1] != ',' && b[i+1] != '}' && b[i+1] != ']' {
				return 0 // may be a key
			}
			return i + 1
		case c == '\\':
			i++
			if i == len(b) || bytes.IndexByte([]byte("\"\\nrtbf"), b[i]) < 0 {
				return 0
			}
		case c < ' ' || c > '~':
			return 0
		}
	}
	return 0
}

// plainNumber returns the length of a whole number, 0 where it is not plain.
func plainNumber(b []byte) int {
	i := 0
	if b[0] == '-' {
		i++
	}
	digits := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if n := i - digits; n == 0 || n > maxPlainDigits || b[digits] == '0' && (n > 1 || digits > 0) {
		return 0
	}
	if i < len(b) && bytes.IndexByte([]byte(",}] \n"), b[i]) < 0 {
		return 0
	}
	return i
}
