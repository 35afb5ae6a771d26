package customresourcedefinition

import (
	"bytes"

	"triplane.dev/generic/storage/wire"
)

// parts names members of JSON objects, or of those in a list. A member without parts of its
// own is one to be edited.
type parts map[string]parts

// replacer returns what takes the place of a part; without keep the part is left out.
type replacer func(part []byte) (replacement []byte, keep bool)

// edit appends a JSON value with what replace makes of each part.
func (p parts) edit(dst, value []byte, replace replacer) []byte {
	value = bytes.TrimSpace(value)
	dst, end := p.editAt(dst, value, 0, replace)
	return append(dst, value[end:]...) // not JSON: the decoder says so
}

// editAt edits the value at index i, and returns the index after it. It goes through the bytes once, however deep the
// parts are.
func (p parts) editAt(dst, b []byte, i int, replace replacer) ([]byte, int) {
	switch {
	case len(p) == 0 || i == len(b):
	case b[i] == '{':
		return p.editObject(dst, b, i, replace)
	case b[i] == '[':
		return p.editList(dst, b, i, replace)
	}
	end := wire.SkipJSON(b, i)
	return append(dst, b[i:end]...), end
}

func (p parts) editObject(dst, b []byte, i int, replace replacer) ([]byte, int) {
	dst = append(dst, '{')
	start := len(dst)
	for i++; ; {
		key, at, ok := wire.JSONKey(b, wire.SkipJSONSpace(b, i))
		if !ok {
			return closed(dst, b, i)
		}
		inner, named := p[string(key)]
		if !named || inner != nil {
			dst = appendKey(separate(dst, start), key)
			dst, i = inner.editAt(dst, b, at, replace)
			continue
		}
		i = wire.SkipJSON(b, at)
		if value, keep := replace(b[at:i]); keep {
			dst = append(appendKey(separate(dst, start), key), value...)
		}
	}
}

func (p parts) editList(dst, b []byte, i int, replace replacer) ([]byte, int) {
	dst = append(dst, '[')
	start := len(dst)
	for i++; ; {
		at := wire.SkipJSONSpace(b, i)
		if at == len(b) || b[at] == ']' {
			return closed(dst, b, i)
		}
		before := at
		dst, i = p.editAt(separate(dst, start), b, at, replace)
		if i == before {
			return dst, i // not JSON
		}
	}
}

// closed appends the end of an object or list, which is behind index i, and returns the index after it.
func closed(dst, b []byte, i int) ([]byte, int) {
	if i = wire.SkipJSONSpace(b, i); i == len(b) || b[i] != '}' && b[i] != ']' {
		return dst, i // not JSON
	}
	return append(dst, b[i]), i + 1
}

func appendKey(dst, key []byte) []byte { return append(append(append(dst, '"'), key...), '"', ':') }

// separate appends what stands between members, or elements.
func separate(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}
