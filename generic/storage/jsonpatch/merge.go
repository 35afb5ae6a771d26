package jsonpatch

import (
	"context"
	"encoding/json"

	library "gopkg.in/evanphx/json-patch.v4"

	"triplane.dev/generic/storage/wire"
)

// Cheap reports whether applying a merge patch takes less than half a second, if document and patch are read
// once for each level of the patch.
func Cheap(doc, patch []byte) bool {
	return wire.Depth(patch)*(len(doc)+len(patch)) <= cheap
}

// Merge applies a merge patch to a document. The error is ErrBadPatch if the patch is not JSON, and ctx's error
// if ctx ended.
func Merge(ctx context.Context, doc, patch []byte) ([]byte, error) {
	if Cheap(doc, patch) {
		return library.MergePatch(doc, patch)
	}
	before, err := decode(doc)
	if err != nil {
		return nil, library.ErrBadJSONDoc
	}
	change, err := decode(patch)
	if err != nil {
		return nil, ErrBadPatch
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	after := merge(before, change)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(after)
}

func merge(before, change any) any {
	object, ok := before.(map[string]any)
	if !ok {
		return withoutNulls(change)
	}
	members, ok := change.(map[string]any)
	if !ok {
		return change
	}
	for key, value := range members {
		is, exists := object[key]
		switch {
		case value == nil:
			delete(object, key)
		case !exists || is == nil:
			object[key] = withoutNulls(value)
		default:
			object[key] = merge(is, value)
		}
	}
	return object
}

// withoutNulls deletes members that are null. List elements that are null stay.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				delete(v, key)
				continue
			}
			withoutNulls(member)
		}
	case []any:
		for _, element := range v {
			withoutNulls(element)
		}
	}
	return value
}
