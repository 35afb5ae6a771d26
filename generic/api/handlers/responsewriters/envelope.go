package responsewriters

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage/wire"
)

// envelope is a list in pieces: the bytes before, between and behind its items,
// which are shared with all readers.
type envelope struct {
	head, tail []byte
	separator  []byte
	// frame, where set, writes what stands before an item of this size.
	frame   func(dst []byte, size int) []byte
	scratch []byte // of frame and render
	items   [][]byte
	// render, if set, appends an item as it is written.
	render func(dst, item []byte) []byte
	// more, if set, are the items behind those, encoded while they are written. An item is valid until the next one. An
	// error ends them.
	more iter.Seq2[[]byte, error]
	// left is the size of more in bytes with what stands before the items; 0 if it is not known.
	left int
}

// size is the length of the list in bytes if nothing is rendered and left is known.
func (e *envelope) size() int {
	n := len(e.head) + len(e.tail) + e.left
	if len(e.items) > 1 {
		n += (len(e.items) - 1) * len(e.separator)
	}
	for _, b := range e.items {
		n += len(b)
		if e.frame != nil {
			n += len(e.frame(e.scratch[:0], len(b)))
		}
	}
	return n
}

func (e *envelope) writeTo(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(e.head); err != nil {
		return err
	}
	written := 0
	for i, b := range e.items {
		if written += len(b); written >= yieldBytes {
			_ = yieldNow(ctx) // the connection has a deadline for what is ready to be written
			written = 0
		}
		if err := e.writeItem(w, i, b); err != nil {
			return err
		}
	}
	if e.more != nil {
		for b, err := range e.more {
			if err == nil {
				err = e.writeItem(w, len(e.items), b)
			}
			if err != nil {
				return err
			}
		}
	}
	_, err := w.Write(e.tail)
	return err
}

// yieldBytes is after how many bytes that are ready others go first: writing them takes some 20 µs.
const yieldBytes = 16 << 10

func (e *envelope) writeItem(w io.Writer, i int, b []byte) error {
	before := e.separator
	if i == 0 {
		before = nil
	}
	switch {
	case e.frame != nil:
		e.scratch = e.frame(e.scratch[:0], len(b))
		before = e.scratch
	case e.render != nil:
		e.scratch = e.render(e.scratch[:0], b)
		b = e.scratch
	}
	if len(before) > 0 {
		if _, err := w.Write(before); err != nil {
			return err
		}
	}
	_, err := w.Write(b)
	return err
}

func (e *envelope) bytes() []byte {
	var b bytes.Buffer
	b.Grow(e.size())
	_ = e.writeTo(context.Background(), &b) // a buffer takes everything
	return b.Bytes()
}

// finish aborts a response that has no length and could not be written to its end: a client must not take a part for
// the whole. A client that closed the connection needs no response.
func (e *envelope) finish(err error) {
	if err != nil && e.more != nil {
		panic(http.ErrAbortHandler)
	}
}

// contents are the items of a list: those that are encoded, and more.
type contents struct {
	kind schema.GroupVersionKind // of the list
	// sorted is set if the members of JSON are sorted, as those of custom resources.
	sorted bool
	items  [][]byte
	more   iter.Seq2[[]byte, error]
	count  int // of items and more
}

// envelope puts a list around encoded items.
func (c contents) envelope(m metav1.ListMeta, mt wire.MediaType) (*envelope, error) {
	kind := c.kind
	switch mt {
	case wire.Protobuf:
		return protobufEnvelope(c, m)
	case wire.CBOR:
		return cborEnvelope(c, m)
	}
	e := &envelope{items: c.items, more: c.more, separator: comma}
	apiVersion := kind.GroupVersion().String()
	if c.sorted {
		e.head = append(wire.AppendString([]byte(`{"apiVersion":`), apiVersion), `,"items":[`...)
		e.tail = wire.AppendString([]byte(`],"kind":`), kind.Kind)
		e.tail = wire.AppendString(append(e.tail, `,"metadata":{"continue":`...), m.Continue)
		e.tail = appendRemaining(e.tail, m)
		e.tail = wire.AppendString(append(e.tail, `,"resourceVersion":`...), m.ResourceVersion)
		e.tail = append(appendShard(e.tail, m), "}}"...)
		return e, nil
	}
	h := wire.AppendString(append(make([]byte, 0, 192), `{"kind":`...), kind.Kind)
	h = append(h, `,"apiVersion":`...)
	h = append(wire.AppendString(h, apiVersion), `,"metadata":{`...)
	open := len(h)
	if m.ResourceVersion != "" {
		h = wire.AppendString(append(h, `,"resourceVersion":`...), m.ResourceVersion)
	}
	if m.Continue != "" {
		h = wire.AppendString(append(h, `,"continue":`...), m.Continue)
	}
	h = appendShard(appendRemaining(h, m), m)
	if len(h) > open { // the first member has no comma before it
		h = append(h[:open], h[open+1:]...)
	}
	e.head = append(h, `},"items":[`...)
	e.tail = []byte("]}")
	return e, nil
}

func appendRemaining(dst []byte, m metav1.ListMeta) []byte {
	if m.RemainingItemCount == nil {
		return dst
	}
	return strconv.AppendInt(append(dst, `,"remainingItemCount":`...), *m.RemainingItemCount, 10)
}

func appendShard(dst []byte, m metav1.ListMeta) []byte {
	if m.ShardInfo == nil {
		return dst
	}
	return append(wire.AppendString(append(dst, `,"shardInfo":{"selector":`...), m.ShardInfo.Selector), '}')
}

// protobufEnvelope puts a list around items: a message that holds ListMeta and the items, in its envelope. Its size
// stands before it, so that more items are encoded twice.
func protobufEnvelope(c contents, m metav1.ListMeta) (*envelope, error) {
	lm, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	e := &envelope{
		items: c.items, more: c.more,
		tail:  wire.EnvelopeTail(),
		frame: func(dst []byte, n int) []byte { return wire.AppendTag(dst, wire.ListItems, n) },
	}
	if e.more != nil {
		for b, err := range e.more {
			if err != nil {
				return nil, err
			}
			e.left += wire.BytesSize(len(b))
		}
	}
	size := wire.BytesSize(len(lm)) + e.left
	for _, b := range c.items {
		size += wire.BytesSize(len(b))
	}
	head := wire.AppendEnvelopeHead(make([]byte, 0, 128+len(lm)), c.kind, size)
	e.head = wire.AppendBytes(head, wire.ObjectMetadata, lm)
	return e, nil
}

// cborEnvelope puts a list around items, which lose their tags.
func cborEnvelope(c contents, m metav1.ListMeta) (*envelope, error) {
	for i, b := range c.items {
		c.items[i] = wire.TrimCBORTag(b)
	}
	head := wire.AppendCBORHead(wire.AppendCBORTag(make([]byte, 0, 192)), wire.CBORMap, 4)
	var err error
	for _, v := range []any{"kind", c.kind.Kind, "apiVersion", c.kind.GroupVersion().String(), "metadata", m, "items"} {
		if head, err = wire.AppendCBORItem(head, v); err != nil {
			return nil, err
		}
	}
	head = wire.AppendCBORHead(head, wire.CBORArray, c.count)
	return &envelope{head: head, items: c.items, more: c.more}, nil
}
