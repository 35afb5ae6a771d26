package wire

import (
	"bytes"
	"fmt"
)

// MaxDepth is how many objects and lists may be within each other in what clients, webhooks and policies send. No
// client needs a tenth of it. What the levels of a document cost grows with their square in places.
const MaxDepth = 1000

// MaxPaths bounds the bytes of the paths of all members and elements of a document together. Validation writes the path
// of each value that is wrong, and libraries that of every value: a long name with thousands of values below it would
// take gigabytes. Documents of clients have a hundredth of it.
const MaxPaths = 64 << 20

// What refuses a document.
var (
	ErrTooDeep   = fmt.Errorf("the document is nested deeper than %d levels", MaxDepth)
	ErrLongPaths = fmt.Errorf("the paths of the document's values have more than %d MiB: names of objects that hold many values are too long",
		MaxPaths>>20)
)

// CheckDepth returns ErrTooDeep for JSON of more than MaxDepth levels, and ErrLongPaths for more than MaxPaths. It need
// not be valid.
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

// Depth returns how many objects and lists are within each other in JSON.
func Depth(json []byte) int { return scan(json).deepest }

// extent is how far a document goes.
type extent struct {
	deepest int
	// paths is how many bytes the paths of its members and elements have together.
	paths int
}

// indexBytes is how long the index of an element is in a path, about.
const indexBytes = 4

// level is an open object or list, and how long its path is.
type level struct {
	list bool
	path int
}

// scan reads JSON, which need not be valid. It counts no paths below MaxDepth.
func scan(json []byte) (e extent) {
	var levels [MaxDepth + 1]level
	depth, name, path := 0, 0, 0 // path is as long as that of the value that is next, name as the last string
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

// CheckProtobufDepth returns ErrTooDeep for a value of which more than MaxDepth messages are within each other. It needs
// no type: what could be a message is taken for one, since no other bytes look like a thousand.
func CheckProtobufDepth(value []byte) error {
	if tooDeep(bytes.TrimPrefix(value, []byte(protobufPrefix)), MaxDepth) {
		return ErrTooDeep
	}
	return nil
}

// leastMessage is how many bytes a message around another has at least: a tag and a length.
const leastMessage = 2

// tooDeep reports whether a message has more levels than are left.
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
