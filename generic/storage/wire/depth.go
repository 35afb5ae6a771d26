package wire

import (
	"bytes"
	"fmt"
)

// MaxDepth is the maximum nesting of objects and lists in documents of clients, webhooks and policies. No
// client needs a tenth of it. The cost of some operations is quadratic in the depth.
const MaxDepth = 1000

// MaxPaths is the maximum of the total length in bytes of the paths of all values in a document. Validation
// formats the path of each invalid value, and libraries that of every value. A long name with thousands of
// values below it would need gigabytes. Documents of clients have a hundredth of it.
const MaxPaths = 64 << 20

// Errors for documents beyond these limits.
var (
	ErrTooDeep   = fmt.Errorf("the document is nested deeper than %d levels", MaxDepth)
	ErrLongPaths = fmt.Errorf("the paths of the document's values have more than %d MiB: names of objects that hold many values are too long",
		MaxPaths>>20)
)

// CheckDepth returns ErrTooDeep for JSON with more than MaxDepth levels, and ErrLongPaths beyond MaxPaths. The
// JSON may be invalid.
func CheckDepth(json []byte) error {
	levels := bytes.Count(json, openObject) + bytes.Count(json, openList)
	values := levels + bytes.Count(json, comma)
	if levels <= MaxDepth && values*len(json) <= MaxPaths {
		return nil
	}
	s := scan(json)
	switch {
	case s.deepest > MaxDepth:
		return ErrTooDeep
	case s.paths > MaxPaths:
		return ErrLongPaths
	}
	return nil
}

var openObject, openList, comma = []byte("{"), []byte("["), []byte(",")

// Depth returns the maximum nesting of objects and lists in JSON.
func Depth(json []byte) int { return scan(json).deepest }

// extent is the result of scan.
type extent struct {
	deepest int
	// paths is the total length of the paths of all values.
	paths int
}

// indexBytes estimates the length of a list index in a path.
const indexBytes = 4

// level is an open object or list with the length of its path.
type level struct {
	list bool
	path int
}

// scan scans JSON, which may be invalid. It ignores paths beyond MaxDepth.
func scan(json []byte) (e extent) {
	var levels [MaxDepth + 1]level
	depth, name, path := 0, 0, 0 // path is the length of the next value's path, name that of the last string
	for i := 0; i < len(json); i++ {
		counts := depth >= 0 && depth <= MaxDepth
		switch json[i] {
		case '"':
			end := skipString(json, i)
			if end == 0 {
				return e
			}
			name = end - i
			i = end - 1
		case ':':
			if counts {
				path = levels[depth].path + name
				e.paths += path
			}
		case ',':
			if counts && levels[depth].list {
				path = levels[depth].path + indexBytes
				e.paths += path
			}
		case '{', '[':
			depth++
			e.deepest = max(e.deepest, depth)
			if depth >= 0 && depth <= MaxDepth {
				levels[depth] = level{list: json[i] == '[', path: path}
			}
			if json[i] == '[' {
				path += indexBytes
				e.paths += path
			}
		case '}', ']':
			depth--
		}
	}
	return e
}

// CheckProtobufDepth returns ErrTooDeep for a value with more than MaxDepth nested messages. It needs no type:
// it treats everything that can be parsed as a message as one. Other bytes never look like a thousand nested
// messages.
func CheckProtobufDepth(value []byte) error {
	if tooDeep(bytes.TrimPrefix(value, []byte(protobufPrefix)), MaxDepth) {
		return ErrTooDeep
	}
	return nil
}

// leastMessage is the minimum size that a message adds to the message within it: a tag and a length.
const leastMessage = 2

// tooDeep reports whether a message has more than left levels.
func tooDeep(message []byte, left int) bool {
	if left == 0 {
		return true
	}
	for i := 0; i < len(message); {
		f, ok := NextField(message, i)
		if !ok {
			return false
		}
		if len(f.Payload) >= leastMessage*(left-1) && len(f.Payload) > 0 && tooDeep(f.Payload, left-1) {
			return true
		}
		i = f.End
	}
	return false
}
