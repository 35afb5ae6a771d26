package handlers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/endpoints/negotiation"
	"triplane/generic/registry/rest"
)

// envelope is a list in pieces: the bytes before, between and behind its items,
// which are shared with everybody who reads them.
type envelope struct {
	head, tail []byte
	separator  []byte
	// frame, where set, writes what stands before an item of this size.
	frame func(dst []byte, size int) []byte
	items [][]byte
}

// size is the length of the list in bytes.
func (e *envelope) size() int {
	n := len(e.head) + len(e.tail)
	if len(e.items) > 1 {
		n += (len(e.items) - 1) * len(e.separator)
	}
	var scratch [16]byte
	for _, b := range e.items {
		n += len(b)
		if e.frame != nil {
			n += len(e.frame(scratch[:0], len(b)))
		}
	}
	return n
}

func (e *envelope) writeTo(w io.Writer) error {
	if _, err := w.Write(e.head); err != nil {
		return err
	}
	var scratch [16]byte
	for i, b := range e.items {
		before := e.separator
		if i == 0 {
			before = nil
		}
		if e.frame != nil {
			before = e.frame(scratch[:0], len(b))
		}
		if len(before) > 0 {
			if _, err := w.Write(before); err != nil {
				return err
			}
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	_, err := w.Write(e.tail)
	return err
}

// listChunk is how many bytes of a list are handed to the connection at a time:
// each hand-over waits for another goroutine.
const listChunk = 128 << 10

var (
	comma      = []byte(",")
	commaBrace = []byte(",{")
	listWriter = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, listChunk) }}
	itemSlices = sync.Pool{New: func() any { return new([][]byte) }}
)

// storedList answers with a list whose items are bytes, without copying them
// into one buffer.
func (a *answer) storedList(code int, list *rest.StoredList) error {
	mt := a.out.MediaType
	wire := mt
	if mt == rest.YAML {
		wire = rest.JSON
	}
	pooled := itemSlices.Get().(*[][]byte)
	defer func() {
		clear(*pooled)
		*pooled = (*pooled)[:0]
		itemSlices.Put(pooled)
	}()
	e, err := a.scope.storedEnvelope((*pooled)[:0], list, wire)
	if err != nil {
		return err
	}
	*pooled = e.items
	if mt == rest.YAML || (mt == rest.JSON && a.out.Pretty) {
		// People who read it wait for less.
		b := e.bytes()
		if mt == rest.YAML {
			if b, err = toYAML(b); err != nil {
				return err
			}
		}
		writeBody(a.w, a.r, code, a.out, b)
		return nil
	}
	if mt == rest.JSON {
		e.tail = append(e.tail, '\n')
	}
	a.stream(code, e)
	return nil
}

// storedEnvelope puts a list around the bytes of its items, which are collected in
// dst.
func (s *RequestScope) storedEnvelope(dst [][]byte, list *rest.StoredList, mt rest.MediaType) (*envelope, error) {
	items, tails, err := s.storedItems(dst, list.Items, mt)
	if err != nil {
		return nil, err
	}
	e, err := s.envelope(items, metav1.ListMeta{
		ResourceVersion: list.ResourceVersion, Continue: list.Continue, RemainingItemCount: list.RemainingItemCount,
	}, mt)
	if err == nil && tails {
		e.head, e.separator = append(e.head, '{'), commaBrace
	}
	return e, err
}

func (e *envelope) bytes() []byte {
	var b bytes.Buffer
	b.Grow(e.size())
	_ = e.writeTo(&b) // a buffer takes everything
	return b.Bytes()
}

// stream writes the list piece by piece.
func (a *answer) stream(code int, e *envelope) {
	size := e.size()
	a.w.Header().Set("Content-Type", negotiation.Name(a.out.MediaType))
	if size > gzipThreshold && acceptsGzip(a.r) {
		z := startGzip(a.w, code)
		defer stopGzip(z)
		_ = e.writeTo(z) // a client that went away needs no answer
		return
	}
	a.w.Header().Set("Content-Length", strconv.Itoa(size))
	a.w.WriteHeader(code)
	if a.r.Method == http.MethodHead {
		return
	}
	w := listWriter.Get().(*bufio.Writer)
	w.Reset(a.w)
	if e.writeTo(w) == nil {
		_ = w.Flush()
	}
	w.Reset(nil)
	listWriter.Put(w)
}

// storedItems collects the bytes of a list's items. tails tells that they lack
// their opening brace, which lets them be shared with the answers to a get.
func (s *RequestScope) storedItems(dst [][]byte, items []rest.Stored, mt rest.MediaType) (_ [][]byte, tails bool, err error) {
	dst = slices.Grow(dst, len(items))
	gv := s.Kind.GroupVersion()
	tails = mt == rest.JSON && len(items) > 0
	for _, item := range items {
		it, ok := item.(rest.ItemTailer)
		if tails = tails && ok; !tails {
			break
		}
		b, ok, err := it.WireItemTail(gv)
		if err != nil {
			return nil, false, err
		}
		if tails = ok; !tails {
			break
		}
		dst = append(dst, b)
	}
	if tails {
		return dst, true, nil
	}
	dst = dst[:0]
	for _, item := range items {
		var b []byte
		if iw, ok := item.(rest.ItemWriter); ok {
			b, err = iw.WireItem(gv, mt)
		} else if b, err = item.Wire(gv, mt); err == nil {
			b, err = s.item(b, mt)
		}
		if err != nil {
			return nil, false, err
		}
		dst = append(dst, b)
	}
	return dst, false, nil
}

// item shortens an encoded object to what it is as an item of a list: built-in
// kinds do not repeat their kind there.
func (s *RequestScope) item(b []byte, mt rest.MediaType) ([]byte, error) {
	if mt == rest.Protobuf {
		return unwrapProtobuf(b)
	}
	if s.unstructured() {
		return b, nil
	}
	apiVersion, kind := s.Kind.ToAPIVersionAndKind()
	prefix := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, kind, apiVersion)
	if !bytes.HasPrefix(b, prefix) {
		return b, nil
	}
	return append([]byte{'{'}, b[len(prefix):]...), nil
}

// encodeList writes a typed list of hub objects.
func (s *RequestScope) encodeList(list runtime.Object, mt rest.MediaType) ([]byte, error) {
	wire := mt
	if mt == rest.YAML {
		wire = rest.JSON
	}
	var items [][]byte
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		versioned, err := s.Codec.FromHub(obj)
		if err != nil {
			return err
		}
		b, err := s.Codec.Encode(nil, versioned, wire)
		if err != nil {
			return err
		}
		b, err = s.item(b, wire)
		items = append(items, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	e, err := s.envelope(items, listMeta(list), wire)
	if err != nil {
		return nil, err
	}
	if mt == rest.YAML {
		return toYAML(e.bytes())
	}
	return e.bytes(), nil
}

// listMeta is the metadata of a typed list.
func listMeta(list runtime.Object) metav1.ListMeta {
	var m metav1.ListMeta
	if l, err := meta.ListAccessor(list); err == nil {
		m.ResourceVersion, m.Continue, m.RemainingItemCount = l.GetResourceVersion(), l.GetContinue(), l.GetRemainingItemCount()
	}
	return m
}

// envelope puts a list around encoded items.
func (s *RequestScope) envelope(items [][]byte, m metav1.ListMeta, mt rest.MediaType) (*envelope, error) {
	kind := s.listKind()
	switch mt {
	case rest.Protobuf:
		return protobufEnvelope(kind, items, m)
	case rest.CBOR:
		return cborEnvelope(kind, items, m)
	}
	e := &envelope{items: items, separator: comma}
	apiVersion := kind.GroupVersion().String()
	if s.unstructured() {
		e.head = append(appendString([]byte(`{"apiVersion":`), apiVersion), `,"items":[`...)
		e.tail = appendString([]byte(`],"kind":`), kind.Kind)
		e.tail = appendString(append(e.tail, `,"metadata":{"continue":`...), m.Continue)
		e.tail = appendRemaining(e.tail, m)
		e.tail = appendString(append(e.tail, `,"resourceVersion":`...), m.ResourceVersion)
		e.tail = append(e.tail, "}}"...)
		return e, nil
	}
	h := appendString(append(make([]byte, 0, 192), `{"kind":`...), kind.Kind)
	h = append(h, `,"apiVersion":`...)
	h = append(appendString(h, apiVersion), `,"metadata":{`...)
	open := len(h)
	if m.ResourceVersion != "" {
		h = appendString(append(h, `,"resourceVersion":`...), m.ResourceVersion)
	}
	if m.Continue != "" {
		h = appendString(append(h, `,"continue":`...), m.Continue)
	}
	h = appendRemaining(h, m)
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

// appendString writes a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			b, _ := json.Marshal(s) // a string always encodes
			return append(dst, b...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// protobufEnvelope puts a list around items on the wire level: an Unknown that
// holds ListMeta as field 1 and the items as field 2.
func protobufEnvelope(kind schema.GroupVersionKind, items [][]byte, m metav1.ListMeta) (*envelope, error) {
	lm, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	size := 1 + varintSize(len(lm)) + len(lm)
	for _, b := range items {
		size += 1 + varintSize(len(b)) + len(b)
	}
	apiVersion := kind.GroupVersion().String()
	tm := appendBytesField(nil, 1, []byte(apiVersion))
	tm = appendBytesField(tm, 2, []byte(kind.Kind))
	head := append(make([]byte, 0, 128+len(lm)), protobufPrefix...)
	head = appendBytesField(head, 1, tm)
	head = appendTag(head, 2, size)
	head = appendBytesField(head, 1, lm)
	return &envelope{
		head: head, items: items,
		tail:  []byte{3<<3 | 2, 0, 4<<3 | 2, 0}, // contentEncoding and contentType are empty
		frame: func(dst []byte, n int) []byte { return appendTag(dst, 2, n) },
	}, nil
}

// appendTag begins a length-delimited protobuf field.
func appendTag(dst []byte, field, size int) []byte {
	dst = append(dst, byte(field<<3|2))
	for size >= 0x80 {
		dst = append(dst, byte(size)|0x80)
		size >>= 7
	}
	return append(dst, byte(size))
}

func appendBytesField(dst []byte, field int, b []byte) []byte {
	return append(appendTag(dst, field, len(b)), b...)
}

func varintSize(n int) int {
	size := 1
	for n >= 0x80 {
		n >>= 7
		size++
	}
	return size
}

// unwrapProtobuf returns the message inside its envelope.
func unwrapProtobuf(b []byte) ([]byte, error) {
	var u runtime.Unknown
	if !bytes.HasPrefix(b, []byte(protobufPrefix)) {
		return nil, fmt.Errorf("an encoded object does not begin with the protobuf prefix")
	}
	if err := u.Unmarshal(b[len(protobufPrefix):]); err != nil {
		return nil, err
	}
	return u.Raw, nil
}
