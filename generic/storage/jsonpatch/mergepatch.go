package jsonpatch

import (
	"bytes"

	"triplane.dev/generic/storage/wire"
)

// maxSpliced bounds the members of a patch's object that are looked for one by
// one.
const maxSpliced = 32

// member is a member of a JSON object, as a range of its bytes.
type member struct {
	key   []byte // between the quotes
	value []byte
	met   bool
}

// SpliceMerge applies a merge patch (RFC 7386) to a document by copying what the
// patch does not name as it stands. The general way parses the document member by
// member, and writes all of it again. Both have to be valid JSON.
//
// ok is false where this way and the general one might differ: escapes in keys,
// which can be written in several ways, keys that are there twice, values that
// have nulls inside of what replaces something, and large patches.
func SpliceMerge(doc, patch []byte) (out []byte, ok bool) {
	doc, patch = bytes.TrimSpace(doc), bytes.TrimSpace(patch)
	if len(doc) == 0 || len(patch) == 0 || doc[0] != '{' || patch[0] != '{' {
		return nil, false
	}
	return spliceObject(make([]byte, 0, len(doc)+len(patch)), doc, patch)
}

func spliceObject(dst, doc, patch []byte) ([]byte, bool) {
	var room [8]member
	changes, ok := members(room[:0], patch, maxSpliced)
	if !ok {
		return nil, false
	}
	dst = append(dst, '{')
	start := len(dst)
	for i := wire.NextJSON(doc, 1); i < len(doc); {
		m, end, ok := readMember(doc, i)
		if !ok {
			return nil, false
		}
		i = wire.NextJSON(doc, end)
		c := find(changes, m.key)
		switch {
		case c == nil:
			dst = appendMember(dst, start, m.key, m.value)
		case c.met:
			return nil, false
		case isNull(c.value):
			c.met = true
		case c.value[0] == '{' && m.value[0] == '{':
			c.met = true
			dst = appendMember(dst, start, m.key, nil)
			if dst, ok = spliceObject(dst, m.value, c.value); !ok {
				return nil, false
			}
		default:
			c.met = true
			if bytes.Contains(c.value, null) {
				return nil, false
			}
			dst = appendMember(dst, start, m.key, c.value)
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.met || isNull(c.value) {
			continue
		}
		if bytes.Contains(c.value, null) {
			return nil, false
		}
		dst = appendMember(dst, start, c.key, c.value)
	}
	return append(dst, '}'), true
}

var null = []byte("null")

func isNull(value []byte) bool { return bytes.Equal(value, null) }

func appendMember(dst []byte, start int, key, value []byte) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), key...), '"', ':')
	return append(dst, value...)
}

func find(members []member, key []byte) *member {
	for i := range members {
		if bytes.Equal(members[i].key, key) {
			return &members[i]
		}
	}
	return nil
}

// members reads the members of an object with distinct keys.
func members(dst []member, object []byte, most int) ([]member, bool) {
	for i := wire.NextJSON(object, 1); i < len(object); {
		m, end, ok := readMember(object, i)
		if !ok || len(dst) == most || find(dst, m.key) != nil {
			return nil, false
		}
		dst = append(dst, m)
		i = wire.NextJSON(object, end)
	}
	return dst, true
}

// readMember reads the member that begins at i, unless its key can be written in
// several ways.
func readMember(b []byte, i int) (m member, end int, ok bool) {
	m.key, m.value, end, ok = wire.JSONMember(b, i)
	return m, end, ok && bytes.IndexByte(m.key, '\\') < 0
}
