package wire

import (
	"bytes"
	"fmt"
)

// MaxDepth is how many objects and lists may be within each other in what clients, webhooks and policies send. No
// client needs a tenth of it. What the levels of a document cost grows with their square in places.
const MaxDepth = 1000

// ErrTooDeep refuses a document.
var ErrTooDeep = fmt.Errorf("the document is nested deeper than %d levels", MaxDepth)

// CheckDepth returns ErrTooDeep for JSON of more than MaxDepth levels. It need not be valid.
func CheckDepth(json []byte) error {
	if bytes.Count(json, openObject)+bytes.Count(json, openList) <= MaxDepth || Depth(json) <= MaxDepth {
		return nil
	}
	return ErrTooDeep
}

var openObject, openList = []byte("{"), []byte("[")

// Depth returns how many objects and lists are within each other in JSON.
func Depth(json []byte) (deepest int) {
	depth := 0
	for i := 0; i < len(json); i++ {
		switch json[i] {
		case '"':
			end := skipString(json, i)
			if end == 0 {
				return deepest
			}
			i = end - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
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
