package customresourcedefinition

import (
	"bytes"

	"triplane.dev/generic/storage/wire"
)

// parts names members of JSON objects, or of those in a list. A member without parts of its
// own is one to be edited.
type parts map[string]parts

// edit appends a JSON value in which replace has taken the place of each part, or has left it
// out.
func (p parts) edit(dst, value []byte, replace func(part []byte) (replacement []byte, keep bool)) []byte {
	value = bytes.TrimSpace(value)
	switch {
	case len(p) == 0 || len(value) == 0:
	case value[0] == '{':
		return p.editObject(dst, value, replace)
	case value[0] == '[':
		return p.editList(dst, value, replace)
	}
	return append(dst, value...)
}

func (p parts) editObject(dst, object []byte, replace func([]byte) ([]byte, bool)) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for i := wire.NextJSON(object, 1); i < len(object); {
		key, value, end, ok := wire.JSONMember(object, i)
		if !ok {
			return append(dst, object[i:]...) // not JSON: the decoder says so
		}
		i = wire.NextJSON(object, end)
		inner, named := p[string(key)]
		keep := true
		if named && inner == nil {
			value, keep = replace(value)
		}
		if keep {
			dst = separate(dst, start)
			dst = append(append(append(dst, '"'), key...), '"', ':')
			dst = inner.edit(dst, value, replace)
		}
	}
	return append(dst, object[len(object)-1])
}

func (p parts) editList(dst, list []byte, replace func([]byte) ([]byte, bool)) []byte {
	dst = append(dst, '[')
	start := len(dst)
	for i := wire.NextJSON(list, 1); i < len(list); {
		end := wire.SkipJSON(list, i)
		dst = p.edit(separate(dst, start), list[i:end], replace)
		i = wire.NextJSON(list, end)
	}
	return append(dst, list[len(list)-1])
}

// separate appends what stands between members, or elements.
func separate(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}
