package responsewriters

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

// gatherLimit is how many bytes of items are collected before a response begins: its length is then known, and an error
// has a Status. The items behind those are encoded while they are written, so that a list of any size takes little
// memory.
const gatherLimit = 16 << 20

// ownLimit takes the place of gatherLimit for items that are not shared: each request keeps them until its client has
// read them.
const ownLimit = 1 << 20

// leastItem is the size of a small item. More than gatherLimit/leastItem of them are rarely collected.
const leastItem = 256

// listChunk is how many bytes of a list are handed to the connection at a time:
// each hand-over waits for another goroutine.
const listChunk = 8 * wire.DataFrame

var (
	comma      = []byte(",")
	commaBrace = []byte(",{")
	listWriter = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, listChunk) }}
	itemSlices = sync.Pool{New: func() any { return new([][]byte) }}
)

// storedList answers with a list whose items are bytes, without copying them
// into one buffer.
func (a *Response) storedList(code int, list *rest.StoredList) error {
	mt := a.Output.MediaType
	form := mt
	if mt == wire.YAML {
		form = wire.JSON
	}
	pooled := itemSlices.Get().(*[][]byte)
	defer func() {
		clear(*pooled)
		*pooled = (*pooled)[:0]
		itemSlices.Put(pooled)
	}()
	limit := gatherLimit
	if a.converts() {
		limit = ownLimit
	}
	return a.writeEnvelope(code, request.Serialization, func(ctx context.Context) (*envelope, error) {
		e, err := a.Scope.storedEnvelope(ctx, (*pooled)[:0], list, form, limit)
		if err == nil {
			*pooled = e.items
		}
		return e, err
	})
}

// writeEnvelope responds with a list in an envelope, whose time is that of a part of the request.
func (a *Response) writeEnvelope(code int, part request.Part, of func(context.Context) (*envelope, error)) error {
	ctx := a.Request.Context()
	timer := request.Time(ctx, part)
	e, err := of(ctx)
	if err == nil {
		err = a.present(e)
	}
	timer.Stop()
	if err != nil {
		return err
	}
	a.stream(code, e)
	return nil
}

// converts reports whether lists are converted from JSON, to YAML or for people.
func (a *Response) converts() bool {
	return a.Output.MediaType == wire.YAML || a.Output.MediaType == wire.JSON && a.Output.Pretty
}

// present converts a list, or ends JSON with a newline.
func (a *Response) present(e *envelope) error {
	switch {
	case a.Output.MediaType == wire.YAML:
		return e.convert(a.Request.Context(), asYAML)
	case a.converts():
		return e.convert(a.Request.Context(), indented)
	case a.Output.MediaType == wire.JSON:
		e.tail = append(e.tail, '\n')
	}
	return nil
}

// storedEnvelope puts a list around the bytes of its items, which are collected in
// dst until they are more than limit.
func (s *Scope) storedEnvelope(ctx context.Context, dst [][]byte, list *rest.StoredList, mt wire.MediaType,
	limit int) (*envelope, error) {
	items, tails, err := s.storedItems(ctx, dst, list, mt, limit)
	if err != nil {
		return nil, err
	}
	c := s.contents(items, len(list.Items))
	if rest := list.Items[len(items):]; len(rest) > 0 {
		c.more = s.moreItems(ctx, rest, mt, tails)
	}
	e, err := c.envelope(storedMeta(list), mt)
	if tails && err == nil {
		e.head, e.separator = append(e.head, '{'), commaBrace
	}
	return e, err
}

// stream writes the list piece by piece.
func (a *Response) stream(code int, e *envelope) {
	size := e.size()
	a.Writer.Header().Set("Content-Type", negotiation.Name(a.Output.MediaType))
	if size > negotiation.GzipFrom && negotiation.AcceptsGzip(a.Request) {
		z := negotiation.StartGzip(a.Writer)
		a.Writer.WriteHeader(code)
		err := e.writeTo(a.Request.Context(), z)
		_ = negotiation.EndGzip(z) // a client that closed the connection needs no response
		e.finish(err)
		return
	}
	if e.render == nil && (e.more == nil || e.left > 0) {
		a.Writer.Header().Set("Content-Length", strconv.Itoa(size))
	}
	a.Writer.WriteHeader(code)
	if a.Request.Method == http.MethodHead {
		return
	}
	w := listWriter.Get().(*bufio.Writer)
	defer func() {
		w.Reset(nil)
		listWriter.Put(w)
	}()
	w.Reset(a.Writer)
	err := e.writeTo(a.Request.Context(), w)
	if err == nil {
		err = w.Flush()
	}
	e.finish(err)
}

// itemBatch is how many items are looked up at a time.
const itemBatch = 64

// storedItems collects the bytes of a list's items in dst, which is empty, until they are more than limit. tails is
// true if they lack their opening brace, so that they are parts of the responses to gets.
func (s *Scope) storedItems(ctx context.Context, dst [][]byte, list *rest.StoredList,
	mt wire.MediaType, limit int) (_ [][]byte, tails bool, err error) {
	gv, prefix, items := s.Kind.GroupVersion(), s.notInItems(mt), list.Items
	dst = slices.Grow(dst, min(len(items), limit/leastItem))
	n, size := 0, 0
	for ; n < len(items) && size <= limit; n++ {
		if n == len(dst) {
			if err := yieldNow(ctx); err != nil {
				return nil, false, err
			}
			dst = list.AppendKept(dst, items[n:min(n+itemBatch, len(items))], rest.Form{Version: gv, MediaType: mt})
		}
		b := dst[n]
		if b == nil || mt == wire.CBOR {
			if err = yieldAt(ctx, n); err == nil {
				b, err = wireItem(items[n], gv, mt)
			}
		}
		if n == 0 {
			tails = mt == wire.JSON && prefix != nil && bytes.HasPrefix(b, prefix)
		}
		if err == nil {
			b, err = sharedItem(b, prefix, mt, tails)
		}
		if err != nil {
			return nil, false, err
		}
		dst[n] = b
		size += len(b)
	}
	clear(dst[n:])
	return dst[:n], tails, nil
}

// wireItem returns the bytes of which an item is a part.
func wireItem(item rest.Stored, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	if mt == wire.CBOR {
		return item.WireItem(gv, mt)
	}
	return item.Wire(gv, mt)
}

// sharedItem returns the part of an encoded object that is an item of a list.
func sharedItem(b, prefix []byte, mt wire.MediaType, tails bool) ([]byte, error) {
	switch {
	case mt == wire.Protobuf:
		if object, ok := wire.CutObject(b, prefix); ok {
			return object, nil
		}
		return wire.ObjectOf(b)
	case !tails:
		return b, nil
	}
	tail, ok := bytes.CutPrefix(b, prefix)
	if !ok {
		return nil, fmt.Errorf("an item of the list does not begin with %s", prefix)
	}
	return tail, nil
}

// moreItems encodes items one by one, without their opening brace if tails is set.
func (s *Scope) moreItems(ctx context.Context, items []rest.Stored, mt wire.MediaType,
	tails bool) iter.Seq2[[]byte, error] {
	gv, prefix := s.Kind.GroupVersion(), s.notInItems(mt)
	return func(yield func([]byte, error) bool) {
		var buf []byte
		for i, item := range items {
			err := yieldAt(ctx, i)
			var b []byte
			switch {
			case err != nil:
			case mt == wire.CBOR:
				b, err = item.WireItem(gv, mt)
				b = wire.TrimCBORTag(b)
			default:
				if b, err = item.AppendWire(buf[:0], gv, mt); err == nil {
					buf = b
					b, err = itemOf(b, prefix, mt)
				}
			}
			if tails && err == nil {
				b = b[1:]
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// yieldAt is yieldNow now and then in a loop that encodes the items of a list.
func yieldAt(ctx context.Context, i int) error {
	if i%16 != 15 {
		return nil
	}
	return yieldNow(ctx)
}

// yieldNow lets others go first. It returns the error of a request that is over.
func yieldNow(ctx context.Context) error {
	request.Yield(ctx)
	return ctx.Err()
}

// notInItems is the beginning of objects that list items lack: built-in kinds do not repeat their kind there.
func (s *Scope) notInItems(mt wire.MediaType) []byte {
	switch {
	case mt == wire.Protobuf:
		return wire.ObjectPrefix(s.Kind)
	case s.Unstructured():
		return nil
	}
	return wire.TypeMetaPrefix(s.Kind)
}

// itemOf shortens an encoded object, which it may change, to what it is as an item of a list. prefix is notInItems.
func itemOf(b, prefix []byte, mt wire.MediaType) ([]byte, error) {
	if mt == wire.Protobuf {
		return sharedItem(b, prefix, mt, false)
	}
	if prefix == nil || !bytes.HasPrefix(b, prefix) {
		return b, nil
	}
	b = b[len(prefix)-1:]
	b[0] = '{'
	return b, nil
}

// encodeList writes a typed list of hub objects.
func (s *Scope) encodeList(list runtime.Object, mt wire.MediaType) ([]byte, error) {
	form := mt
	if mt == wire.YAML {
		form = wire.JSON
	}
	var items [][]byte
	prefix := s.notInItems(form)
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		versioned, err := s.Codec.FromHub(obj)
		if err != nil {
			return err
		}
		b, err := s.Codec.Encode(nil, versioned, form)
		if err != nil {
			return err
		}
		b, err = itemOf(b, prefix, form)
		items = append(items, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := s.contents(items, len(items))
	e, err := c.envelope(listMeta(list), form)
	if err != nil {
		return nil, err
	}
	if mt == wire.YAML {
		return toYAML(e.bytes())
	}
	return e.bytes(), nil
}

// listMeta is the metadata of a typed list.
func listMeta(list runtime.Object) metav1.ListMeta {
	var m metav1.ListMeta
	if l, err := meta.ListAccessor(list); err == nil {
		m.ResourceVersion, m.Continue, m.RemainingItemCount = l.GetResourceVersion(), l.GetContinue(),
			l.GetRemainingItemCount()
	}
	return m
}

// storedMeta is the metadata of a stored list.
func storedMeta(list *rest.StoredList) metav1.ListMeta {
	return metav1.ListMeta{ResourceVersion: list.ResourceVersion, Continue: list.Continue,
		RemainingItemCount: list.RemainingItemCount, ShardInfo: list.Shard}
}

// contents are items of the resource, the first of count.
func (s *Scope) contents(items [][]byte, count int) contents {
	return contents{kind: s.listKind(), sorted: s.Unstructured(), items: items, count: count}
}
