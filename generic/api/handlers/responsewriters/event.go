package responsewriters

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

// EventEncoder writes the events of one watch. It belongs to one goroutine.
type EventEncoder struct {
	response Response
	table    *metav1.TableOptions
	// messages sends each event by itself, as a message of a WebSocket: nothing says
	// how long it is then.
	Messages bool
}

// NewEventEncoder returns the encoder of the events of a watch that req requested.
func NewEventEncoder(s *Scope, req *http.Request, out negotiation.Output) (*EventEncoder, error) {
	e := &EventEncoder{response: Response{Scope: s, Request: req, Output: out}}
	if out.Transform == negotiation.Table {
		opts, err := e.response.tableOptions()
		if err != nil {
			return nil, err
		}
		e.table = opts
	}
	return e, nil
}

// MediaType returns the media type of the stream.
func (e *EventEncoder) MediaType() wire.MediaType { return e.response.Output.MediaType }

// Append writes one event behind dst. Objects that are bytes are copied, and
// nothing else is done.
func (e *EventEncoder) Append(dst []byte, t apiwatch.EventType, obj runtime.Object) ([]byte, error) {
	b, err := e.object(obj)
	if err != nil {
		return dst, err
	}
	e.response.Scope.Watches.Sent(len(b))
	return e.frame(dst, string(t), b), nil
}

// object is the encoded object of an event.
func (e *EventEncoder) object(obj runtime.Object) ([]byte, error) {
	if status, ok := obj.(*metav1.Status); ok {
		return wire.MarshalStatus(status.DeepCopy(), e.response.Output.MediaType)
	}
	if e.response.Output.Transform == negotiation.None {
		return e.response.Scope.Encode(obj, e.response.Output.MediaType)
	}
	obj, err := decoded(obj)
	if err != nil {
		return nil, err
	}
	if e.response.Output.Transform == negotiation.Table {
		return e.tableEvent(obj)
	}
	if e.response.Output.Transform == negotiation.PartialObjectMetadataList {
		return nil, negotiation.NotConvertible(
			"you requested PartialObjectMetadataList, but the requested object is not a list (*" +
				e.response.Scope.GoName() + ")")
	}
	p, err := partialOf(obj, e.response.Output.Version)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(p, e.response.Output.MediaType)
}

// tableEvent is a table of one row. Only the first one has the columns.
func (e *EventEncoder) tableEvent(obj runtime.Object) ([]byte, error) {
	t, err := e.response.table(obj, e.table)
	if err != nil {
		return nil, err
	}
	if e.table.NoHeaders {
		t.ColumnDefinitions = nil
	}
	e.table.NoHeaders = true
	return wire.Marshal(t, e.response.Output.MediaType)
}

// AppendError writes the event that says why a watch ends.
func (e *EventEncoder) AppendError(dst []byte, err error) []byte {
	if _, ok := err.(apierrors.APIStatus); !ok {
		err = apierrors.NewInternalError(err)
	}
	b, encErr := wire.MarshalStatus(StatusOf(err), e.response.Output.MediaType)
	if encErr != nil {
		return dst
	}
	return e.frame(dst, string(apiwatch.Error), b)
}

// frame puts the event around an encoded object.
func (e *EventEncoder) frame(dst []byte, t string, obj []byte) []byte {
	switch e.response.Output.MediaType {
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
func (e *EventEncoder) frameProtobuf(dst []byte, t string, obj []byte) []byte {
	raw := wire.BytesSize(len(obj))
	if !e.Messages {
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
