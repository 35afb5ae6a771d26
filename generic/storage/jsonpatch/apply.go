package jsonpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	library "gopkg.in/evanphx/json-patch.v4"

	"triplane/generic/storage/wire"
)

const (
	// cheap bounds, in bytes times levels, what the library may do: 16 MiB take half a second at most.
	cheap = 16 << 20
	// maxCopy bounds the bytes that the copies of one patch may add, which could else double the document with
	// each operation.
	maxCopy = 3 << 20
)

// Patch is a decoded JSON patch.
type Patch struct {
	ops library.Patch
	// steps is how many containers all operations together look into.
	steps int
	// copies is how many operations copy, size how many bytes the patch has.
	copies, size int
}

// Errors of patches that callers tell apart.
var (
	ErrTestFailed = library.ErrTestFailed
	ErrBadPatch   = library.ErrBadJSONPatch
)

// limitCopies sets the library's bound, which is the process's. Every server has the same one.
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

// Apply returns the patched document. The error is ErrTestFailed where an operation "test" did not hold, and that of
// ctx if it ends first.
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

// byLibrary is the library's Apply, which panics on some operations that make no sense.
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

// decode parses JSON; its numbers stay as they are written.
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

// steps are the keys of a pointer. What is before its first slash means nothing to the library.
func steps(pointer string) []string {
	keys := strings.Split(pointer, "/")[1:]
	for i, k := range keys {
		if strings.Contains(k, "~") {
			keys[i] = strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
		}
	}
	return keys
}
