package handlers

import (
	"encoding/binary"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/storage/wire"
)

// eventEncoder writes the events of one watch. It belongs to one goroutine.
type eventEncoder struct {
	answer
	table *metav1.TableOptions
	// messages sends each event by itself, as a message of a WebSocket: nothing says
	// how long it is then.
	messages bool
}

func newEventEncoder(s *RequestScope, req *http.Request, out negotiation.Output) (*eventEncoder, error) {
	e := &eventEncoder{answer: answer{scope: s, r: req, out: out}}
	if out.Transform == negotiation.Table {
		opts, err := e.tableOptions()
		if err != nil {
			return nil, err
		}
		e.table = opts
	}
	return e, nil
}

// append writes one event behind dst. Objects that are bytes are copied, and
// nothing else is done.
func (e *eventEncoder) append(dst []byte, t apiwatch.EventType, obj runtime.Object) ([]byte, error) {
	b, err := e.object(obj)
	if err != nil {
		return dst, err
	}
	e.scope.Watches.Sent(len(b))
	return e.frame(dst, string(t), b), nil
}

// object is the encoded object of an event.
func (e *eventEncoder) object(obj runtime.Object) ([]byte, error) {
	if status, ok := obj.(*metav1.Status); ok {
		return wire.MarshalStatus(status.DeepCopy(), e.out.MediaType)
	}
	if e.out.Transform == negotiation.None {
		return e.scope.encode(obj, e.out.MediaType)
	}
	obj, err := decoded(obj)
	if err != nil {
		return nil, err
	}
	if e.out.Transform == negotiation.Table {
		return e.tableEvent(obj)
	}
	if e.out.Transform == negotiation.PartialObjectMetadataList {
		return nil, negotiation.NotConvertible(
			"you requested PartialObjectMetadataList, but the requested object is not a list (*" + e.scope.goName() + ")")
	}
	p, err := partialOf(obj, e.out.Version)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(p, e.out.MediaType)
}

// tableEvent is a table of one row. Only the first one has the columns.
func (e *eventEncoder) tableEvent(obj runtime.Object) ([]byte, error) {
	t, err := e.answer.table(obj, e.table)
	if err != nil {
		return nil, err
	}
	if e.table.NoHeaders {
		t.ColumnDefinitions = nil
	}
	e.table.NoHeaders = true
	return wire.Marshal(t, e.out.MediaType)
}

// appendError writes the event that says why a watch ends.
func (e *eventEncoder) appendError(dst []byte, err error) []byte {
	if _, ok := err.(apierrors.APIStatus); !ok {
		err = apierrors.NewInternalError(err)
	}
	b, encErr := wire.MarshalStatus(StatusOf(err), e.out.MediaType)
	if encErr != nil {
		return dst
	}
	return e.frame(dst, string(apiwatch.Error), b)
}

// frame puts the event around an encoded object.
func (e *eventEncoder) frame(dst []byte, t string, obj []byte) []byte {
	switch e.out.MediaType {
	case wire.Protobuf:
		return e.frameProtobuf(dst, t, obj)
	case wire.CBOR:
		return frameCBOR(dst, t, obj)
	}
	dst = append(append(append(dst, `{"type":"`...), t...), `","object":`...)
	return append(append(dst, obj...), '}', '\n')
}

// frameProtobuf writes a WatchEvent (1: type, 2: RawExtension with 1: raw) behind
// its length.
func (e *eventEncoder) frameProtobuf(dst []byte, t string, obj []byte) []byte {
	raw := wire.BytesSize(len(obj))
	if !e.messages {
		size := wire.BytesSize(len(t)) + wire.BytesSize(raw)
		dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	}
	dst = wire.AppendTag(dst, 1, len(t))
	dst = append(dst, t...)
	dst = wire.AppendTag(dst, 2, raw)
	return wire.AppendBytes(dst, 1, obj)
}

// frameCBOR writes a watch event. Nothing is needed between the items of a
// sequence.
func frameCBOR(dst []byte, t string, obj []byte) []byte {
	dst = wire.AppendCBORHead(wire.AppendCBORTag(dst), wire.CBORMap, 2)
	dst = wire.AppendCBORString(dst, "type")
	dst = wire.AppendCBORString(dst, t)
	dst = wire.AppendCBORString(dst, "object")
	return append(dst, wire.TrimCBORTag(obj)...)
}
