package jsonpatch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	library "gopkg.in/evanphx/json-patch.v4"
)

// maxMoved limits how many list elements a patch may move to other indices: about a second of work.
const maxMoved = 300_000_000

var errMoves = fmt.Errorf("the patch moves more than %d list elements: replace the list, or add to its end", maxMoved)

// tree is a decoded document while it is patched.
type tree struct {
	root   any
	copied int64
	// moved is how many list elements were moved to other indices.
	moved int
}

// place is a member of an object or an element of a list. It need not exist.
type place struct {
	tree   *tree
	within any
	// put replaces the list that contains the place.
	put func([]any)
	key string
}

// find returns the place of a pointer; ok is false if its parent does not exist.
func (t *tree) find(pointer string) (p place, ok bool) {
	keys := steps(pointer)
	if len(keys) == 0 {
		return p, false
	}
	p = place{tree: t, within: t.root, put: func(l []any) { t.root = l }, key: keys[0]}
	for _, next := range keys[1:] {
		value, err := p.get()
		if err != nil {
			return p, false
		}
		around := p
		p = place{tree: t, within: value, put: func(l []any) { _ = around.set(l) }, key: next}
	}
	switch p.within.(type) {
	case map[string]any, []any:
		return p, true
	}
	return p, false
}

// moves counts moved list elements. It returns an error beyond maxMoved.
func (t *tree) moves(n int) error {
	if t.moved += n; t.moved > maxMoved {
		return errMoves
	}
	return nil
}

// index returns the key as an index into n elements. Negative indices count from the end.
func (p place) index(n int) (int, error) {
	i, err := strconv.Atoi(p.key)
	if err != nil {
		return 0, err
	}
	if i >= n || i < -n {
		//nolint:staticcheck // the library's words
		return 0, fmt.Errorf("Unable to access invalid index: %d: %w", i, library.ErrInvalidIndex)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// get returns the value at the place, and null if an object does not have the member.
func (p place) get() (any, error) {
	switch c := p.within.(type) {
	case map[string]any:
		return c[p.key], nil
	case []any:
		i, err := p.index(len(c))
		if err != nil {
			return nil, err
		}
		return c[i], nil
	}
	return nil, library.ErrMissing
}

// set replaces the value at the place.
func (p place) set(value any) error {
	switch c := p.within.(type) {
	case map[string]any:
		c[p.key] = value
	case []any:
		i, err := p.index(len(c))
		if err != nil {
			return err
		}
		c[i] = value
	}
	return nil
}

// add sets a member or inserts an element.
func (p place) add(value any) error {
	list, ok := p.within.([]any)
	if !ok {
		return p.set(value)
	}
	if p.key == "-" {
		p.put(append(list, value))
		return nil
	}
	i, err := p.index(len(list) + 1)
	if err != nil {
		return err
	}
	if err := p.tree.moves(len(list) - i); err != nil {
		return err
	}
	p.put(slices.Insert(list, i, value))
	return nil
}

// remove deletes the member or element.
func (p place) remove() error {
	switch c := p.within.(type) {
	case map[string]any:
		if _, ok := c[p.key]; !ok {
			//nolint:staticcheck // the library's words
			return fmt.Errorf("Unable to remove nonexistent key: %s: %w", p.key, library.ErrMissing)
		}
		delete(c, p.key)
	case []any:
		i, err := p.index(len(c))
		if err != nil {
			return err
		}
		if err := p.tree.moves(len(c) - i); err != nil {
			return err
		}
		p.put(slices.Delete(c, i, i+1))
	}
	return nil
}

// apply applies one operation.
func (t *tree) apply(op library.Operation) error {
	path, err := op.Path()
	if err != nil {
		return fmt.Errorf("%s operation failed to decode path: %w", op.Kind(), err)
	}
	switch kind := op.Kind(); kind {
	case "add", "replace", "test":
		var value any
		if text := op["value"]; text != nil {
			if value, err = decode(*text); err != nil {
				return err
			}
		}
		return t.withValue(kind, path, value)
	case "remove":
		p, ok := t.find(path)
		if !ok {
			return missing(kind, path)
		}
		return named(kind, path, p.remove())
	case "move", "copy":
		from, err := op.From()
		if err != nil {
			return fmt.Errorf("%s operation failed to decode from: %w", kind, err)
		}
		return t.transfer(kind, from, path)
	default:
		return fmt.Errorf("Unexpected kind: %s", kind) //nolint:staticcheck // the library's words
	}
}

// withValue applies an operation that has a value.
func (t *tree) withValue(kind, path string, value any) error {
	if path == "" && kind != "add" {
		return t.whole(kind, value)
	}
	p, ok := t.find(path)
	if !ok {
		return missing(kind, path)
	}
	if kind == "add" {
		return named(kind, path, p.add(value))
	}
	is, err := p.get()
	switch {
	case err != nil:
		return named(kind, path, err)
	case kind == "replace":
		return named(kind, path, p.set(value))
	case !reflect.DeepEqual(is, value):
		return fmt.Errorf("testing value %s failed: %w", path, ErrTestFailed)
	}
	return nil
}

// whole applies an operation to the whole document.
func (t *tree) whole(kind string, value any) error {
	if kind == "test" {
		if !reflect.DeepEqual(t.root, value) {
			return fmt.Errorf("testing value  failed: %w", ErrTestFailed)
		}
		return nil
	}
	switch value.(type) {
	case map[string]any, []any:
		t.root = value
		return nil
	}
	return fmt.Errorf("replace operation value must be object or array")
}

// transfer applies a move or copy operation.
func (t *tree) transfer(kind, from, path string) error {
	source, ok := t.find(from)
	if !ok {
		return missing(kind, from)
	}
	value, err := source.get()
	if err != nil {
		return named(kind, from, err)
	}
	if kind == "move" {
		if err := source.remove(); err != nil {
			return named(kind, from, err)
		}
	}
	target, ok := t.find(path)
	if !ok {
		return missing(kind, path)
	}
	if kind == "copy" {
		if value, err = t.clone(value); err != nil {
			return err
		}
	}
	return named(kind, path, target.add(value))
}

// clone returns a copy of a value. It returns an error beyond maxCopy.
func (t *tree) clone(value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if t.copied += int64(len(text)); t.copied > maxCopy {
		return nil, library.NewAccumulatedCopySizeError(maxCopy, t.copied)
	}
	return decode(text)
}

func missing(kind, path string) error {
	return fmt.Errorf("%s operation does not apply: doc is missing path: %q: %w", kind, path, library.ErrMissing)
}

func named(kind, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("error in %s for path: '%s': %w", kind, path, err)
}
