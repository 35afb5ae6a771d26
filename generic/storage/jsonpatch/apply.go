package jsonpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	library "gopkg.in/evanphx/json-patch.v4"

	"triplane.dev/generic/storage/wire"
)

const (
	// cheap limits, in bytes times levels, the work of the library: 16 MiB take at most half a second.
	cheap = 16 << 20
	// maxCopy limits the bytes that the copy operations of one patch add. Otherwise each could double the
	// document.
	maxCopy = 3 << 20
)

// Patch is a decoded JSON patch.
type Patch struct {
	ops library.Patch
	// steps is the number of path steps of all operations.
	steps int
	// copies is the number of copy operations, size the size of the patch in bytes.
	copies, size int
}

// Errors that callers distinguish.
var (
	ErrTestFailed = library.ErrTestFailed
	ErrBadPatch   = library.ErrBadJSONPatch
)

// limitCopies sets the library's limit, which is global. All servers in a process use the same one.
var limitCopies = sync.OnceFunc(func() { library.AccumulatedCopySizeLimit = maxCopy })

// Decode parses a JSON patch.
func Decode(text []byte) (Patch, error) {
	limitCopies()
	ops, err := library.DecodePatch(text)
	if err != nil {
		return Patch{}, err
	}
	p := Patch{ops: ops, size: len(text)}
	for _, op := range ops {
		p.steps++
		for _, name := range []string{"path", "from"} {
			if text := op[name]; text != nil {
				p.steps += bytes.Count(*text, []byte("/"))
			}
		}
		switch value := op["value"]; op.Kind() {
		case "copy":
			p.copies++
		case "test":
			if value != nil {
				p.steps += wire.Depth(*value)
			}
		}
	}
	return p, nil
}

// Len returns the number of operations.
func (p Patch) Len() int { return len(p.ops) }

// Apply returns the patched document. The error is ErrTestFailed if a test operation failed, and ctx's error if
// ctx ended.
func (p Patch) Apply(ctx context.Context, doc []byte) (patched []byte, err error) {
	size := len(doc) + p.size
	if p.copies > 0 {
		size += min(size<<min(p.copies, 12), maxCopy)
	}
	if p.steps*size <= cheap {
		return p.byLibrary(doc)
	}
	return p.byTree(ctx, doc)
}

// byLibrary calls the library's Apply and recovers from its panics on some invalid operations.
func (p Patch) byLibrary(doc []byte) (patched []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the patch cannot be applied: %v", r)
		}
	}()
	return p.ops.Apply(doc)
}

// byTree applies the operations to the decoded document.
func (p Patch) byTree(ctx context.Context, doc []byte) ([]byte, error) {
	t := &tree{}
	var err error
	if t.root, err = decode(doc); err != nil {
		return nil, err
	}
	for _, op := range p.ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.apply(op); err != nil {
			return nil, err
		}
	}
	return json.Marshal(t.root)
}

// decode decodes JSON and preserves the text of numbers.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("invalid character after the top-level value")
	}
	return value, nil
}

// steps returns the keys of a JSON pointer. The library ignores everything before the first slash.
func steps(pointer string) []string {
	keys := strings.Split(pointer, "/")[1:]
	for i, k := range keys {
		if strings.Contains(k, "~") {
			keys[i] = strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
		}
	}
	return keys
}
