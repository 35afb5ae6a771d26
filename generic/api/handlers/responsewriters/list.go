package responsewriters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"math"
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

// envelope is a list in pieces: the bytes before, between and behind its items,
// which are shared with all readers.
type envelope struct {
	head, tail []byte
	separator  []byte
	// frame, where set, writes what stands before an item of this size.
	frame   func(dst []byte, size int) []byte
	scratch [16]byte // of frame
	items   [][]byte
	// more, if set, are the items behind those, encoded while they are written. An error ends them.
	more iter.Seq2[[]byte, error]
}

// size is the length of the list in bytes. It is not known while there are more items.
func (e *envelope) size() int {
	n := len(e.head) + len(e.tail)
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
	for i, b := range e.items {
		_ = yieldAt(ctx, i) // the connection has a deadline for what is ready to be written
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

func (e *envelope) writeItem(w io.Writer, i int, b []byte) error {
	before := e.separator
	if i == 0 {
		before = nil
	}
	if e.frame != nil {
		before = e.frame(e.scratch[:0], len(b))
	}
	if len(before) > 0 {
		if _, err := w.Write(before); err != nil {
			return err
		}
	}
	_, err := w.Write(b)
	return err
}

// gatherLimit is how many bytes of JSON items are collected before a response begins: its length is then known, and an
// error has a Status. The items behind those are encoded while they are written, so that a list of any size takes
// little memory.
const gatherLimit = 16 << 20

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
	timer := request.Time(a.Request.Context(), request.Serialization)
	limit := math.MaxInt
	if mt == wire.JSON {
		limit = gatherLimit
	}
	e, err := a.Scope.storedEnvelope(a.Request.Context(), (*pooled)[:0], list, form, limit)
	timer.Stop()
	if err != nil {
		return err
	}
	*pooled = e.items
	switch {
	case mt == wire.YAML:
		b, err := toYAML(e.bytes())
		if err != nil {
			return err
		}
		writeBody(a.Writer, a.Request, code, a.Output, b)
		return nil
	case mt == wire.JSON && a.Output.Pretty:
		if err := e.indent(); err != nil {
			return err
		}
	case mt == wire.JSON:
		e.tail = append(e.tail, '\n')
	}
	a.stream(code, e)
	return nil
}

// storedEnvelope puts a list around the bytes of its items, which are collected in
// dst until they are more than limit.
func (s *Scope) storedEnvelope(ctx context.Context, dst [][]byte, list *rest.StoredList, mt wire.MediaType,
	limit int) (*envelope, error) {
	items, tails, err := s.storedItems(ctx, dst, list.Items, mt, limit)
	if err != nil {
		return nil, err
	}
	e, err := s.envelope(items, metav1.ListMeta{
		ResourceVersion: list.ResourceVersion, Continue: list.Continue, RemainingItemCount: list.RemainingItemCount,
		ShardInfo: list.Shard,
	}, mt)
	if err != nil {
		return nil, err
	}
	if tails {
		e.head, e.separator = append(e.head, '{'), commaBrace
	}
	if rest := list.Items[len(items):]; len(rest) > 0 {
		e.more = s.moreItems(ctx, rest, tails)
	}
	return e, nil
}

func (e *envelope) bytes() []byte {
	var b bytes.Buffer
	b.Grow(e.size())
	_ = e.writeTo(context.Background(), &b) // a buffer takes everything
	return b.Bytes()
}

// stream writes the list piece by piece.
func (a *Response) stream(code int, e *envelope) {
	size := e.size()
	a.Writer.Header().Set("Content-Type", negotiation.Name(a.Output.MediaType))
	if size > gzipThreshold && negotiation.AcceptsGzip(a.Request) {
		z := startGzip(a.Writer, code)
		defer stopGzip(z)
		e.finish(e.writeTo(a.Request.Context(), z))
		return
	}
	if e.more == nil {
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

// finish aborts a response that has no length and could not be written to its end: a client must not take a part for
// the whole. A client that closed the connection needs no response.
func (e *envelope) finish(err error) {
	if err != nil && e.more != nil {
		panic(http.ErrAbortHandler)
	}
}

// indent makes the list readable for people, as json.Indent does.
func (e *envelope) indent() error {
	const prefix, by = "    ", "  "
	var b bytes.Buffer
	whole := slices.Concat(e.head, e.tail)
	if len(e.items) == 0 {
		e.tail = nil
		err := json.Indent(&b, whole, "", by)
		e.head = b.Bytes()
		return err
	}
	open, tails := bytes.CutSuffix(e.head, []byte("{"))
	if err := json.Indent(&b, slices.Concat(open, []byte("0"), e.tail), "", by); err != nil {
		return err
	}
	// Texts have no line breaks, so that the zero is the only one.
	e.head, e.tail, _ = bytes.Cut(b.Bytes(), []byte("\n"+prefix+"0\n"))
	e.head, e.tail = append(slices.Clip(e.head), "\n"+prefix...), append([]byte{'\n'}, e.tail...)
	e.separator = []byte(",\n" + prefix)
	item := func(item []byte) ([]byte, error) {
		var b bytes.Buffer
		b.Grow(len(item) + len(item)/2)
		if tails {
			item = slices.Concat([]byte("{"), item)
		}
		err := json.Indent(&b, item, prefix, by)
		return b.Bytes(), err
	}
	for i, b := range e.items {
		var err error
		if e.items[i], err = item(b); err != nil {
			return err
		}
	}
	if more := e.more; more != nil {
		e.more = func(yield func([]byte, error) bool) {
			for b, err := range more {
				if err == nil {
					b, err = item(b)
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
	return nil
}

// storedItems collects the bytes of a list's items, until they are more than limit. tails is true where they lack
// their opening brace, which lets them be shared with the answers to a get.
func (s *Scope) storedItems(ctx context.Context, dst [][]byte, items []rest.Stored,
	mt wire.MediaType, limit int) (_ [][]byte, tails bool, err error) {
	dst = slices.Grow(dst, min(len(items), limit/leastItem))
	tails, size := mt == wire.JSON && len(items) > 0, 0
	for i := 0; i < len(items) && size <= limit; i++ {
		if err := yieldAt(ctx, i); err != nil {
			return nil, false, err
		}
		var b []byte
		b, tails, err = s.storedItem(items[i], mt, tails)
		if err != nil {
			return nil, false, err
		}
		dst = append(dst, b)
		size += len(b)
	}
	return dst, tails, nil
}

// moreItems encodes JSON items one by one.
func (s *Scope) moreItems(ctx context.Context, items []rest.Stored, tails bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i, item := range items {
			err := yieldAt(ctx, i)
			var b []byte
			if err == nil {
				b, _, err = s.storedItem(item, wire.JSON, tails)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// storedItem returns the bytes of an item. Whether it has a tail, which is preferred, is the same for all items of a
// list.
func (s *Scope) storedItem(item rest.Stored, mt wire.MediaType, tail bool) (b []byte, tails bool, err error) {
	gv := s.Kind.GroupVersion()
	if tail {
		if b, ok, err := item.WireItemTail(gv); ok || err != nil {
			return b, ok, err
		}
	}
	b, err = item.WireItem(gv, mt)
	return b, false, err
}

// yieldAt lets others go first now and then in a loop over the items of a list. It returns the error of a request that
// is over.
func yieldAt(ctx context.Context, i int) error {
	if i%16 != 15 {
		return nil
	}
	request.Yield(ctx)
	return ctx.Err()
}

// item shortens an encoded object to what it is as an item of a list: built-in
// kinds do not repeat their kind there.
func (s *Scope) item(b []byte, mt wire.MediaType) ([]byte, error) {
	if mt == wire.Protobuf {
		return wire.ObjectOf(b)
	}
	if s.Unstructured() {
		return b, nil
	}
	tail, ok := bytes.CutPrefix(b, wire.TypeMetaPrefix(s.Kind))
	if !ok {
		return b, nil
	}
	return append([]byte{'{'}, tail...), nil
}

// encodeList writes a typed list of hub objects.
func (s *Scope) encodeList(list runtime.Object, mt wire.MediaType) ([]byte, error) {
	form := mt
	if mt == wire.YAML {
		form = wire.JSON
	}
	var items [][]byte
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		versioned, err := s.Codec.FromHub(obj)
		if err != nil {
			return err
		}
		b, err := s.Codec.Encode(nil, versioned, form)
		if err != nil {
			return err
		}
		b, err = s.item(b, form)
		items = append(items, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	e, err := s.envelope(items, listMeta(list), form)
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

// envelope puts a list around encoded items.
func (s *Scope) envelope(items [][]byte, m metav1.ListMeta, mt wire.MediaType) (*envelope, error) {
	kind := s.listKind()
	switch mt {
	case wire.Protobuf:
		return protobufEnvelope(kind, items, m)
	case wire.CBOR:
		return cborEnvelope(kind, items, m)
	}
	e := &envelope{items: items, separator: comma}
	apiVersion := kind.GroupVersion().String()
	if s.Unstructured() {
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

// protobufEnvelope puts a list around items: a message that holds ListMeta and
// the items, in its envelope.
func protobufEnvelope(kind schema.GroupVersionKind, items [][]byte, m metav1.ListMeta) (*envelope, error) {
	lm, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	size := wire.BytesSize(len(lm))
	for _, b := range items {
		size += wire.BytesSize(len(b))
	}
	head := wire.AppendEnvelopeHead(make([]byte, 0, 128+len(lm)), kind, size)
	head = wire.AppendBytes(head, wire.ObjectMetadata, lm)
	return &envelope{
		head: head, items: items,
		tail:  wire.EnvelopeTail(),
		frame: func(dst []byte, n int) []byte { return wire.AppendTag(dst, wire.ListItems, n) },
	}, nil
}

// cborEnvelope puts a list around items, which lose their tags.
func cborEnvelope(kind schema.GroupVersionKind, items [][]byte, m metav1.ListMeta) (*envelope, error) {
	for i, b := range items {
		items[i] = wire.TrimCBORTag(b)
	}
	head := wire.AppendCBORHead(wire.AppendCBORTag(make([]byte, 0, 192)), wire.CBORMap, 4)
	var err error
	for _, v := range []any{"kind", kind.Kind, "apiVersion", kind.GroupVersion().String(), "metadata", m, "items"} {
		if head, err = wire.AppendCBORItem(head, v); err != nil {
			return nil, err
		}
	}
	return &envelope{head: wire.AppendCBORHead(head, wire.CBORArray, len(items)), items: items}, nil
}
