package responsewriters

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// Response is the response to one request about a resource.
type Response struct {
	Scope   *Scope
	Writer  http.ResponseWriter
	Request *http.Request
	Output  negotiation.Output
}

// Write responds with an object, list or Status that storage returned: objects of the hub version, or bytes. After an
// error nothing has been written.
func (a *Response) Write(code int, obj runtime.Object) error {
	if status, ok := obj.(*metav1.Status); ok {
		return a.status(code, status)
	}
	list, ok := obj.(*rest.StoredList)
	if !ok {
		a.audit(obj)
		return a.object(code, obj)
	}
	if request.SkipsUnreadable(a.Request.Context()) {
		list.DropUnreadable(a.Request.Context())
	}
	a.audit(list)
	return list.ReadError(a.list(code, list))
}

// status answers with a Status that the storage returned. It has no code of its
// own unless the storage gave it one.
func (a *Response) status(code int, status *metav1.Status) error {
	if status.Kind == "" {
		status = status.DeepCopy()
		status.Kind, status.APIVersion = "Status", "v1"
	}
	audit.RecordFrom(a.Request.Context()).ResponseStatus(status)
	b, err := wire.MarshalStatus(status, a.Output.MediaType)
	if err != nil {
		return err
	}
	writeBody(a.Writer, a.Request, code, a.Output, b)
	return nil
}

// list answers with a list whose items are bytes.
func (a *Response) list(code int, list *rest.StoredList) error {
	if a.Output.Transform == negotiation.None {
		return a.storedList(code, list)
	}
	if done, err := a.storedTable(code, list); done || err != nil {
		return err
	}
	if a.Output.Transform == negotiation.PartialObjectMetadataList && len(list.Items) > 0 && !a.renumbered() {
		return a.storedMetadata(code, list)
	}
	return a.object(code, list)
}

// object answers with what is encoded as a whole before the first byte is sent. After the deadline
// of the request there is little time left for it to be sent, and clients expect 504.
func (a *Response) object(code int, obj runtime.Object) error {
	b, err := a.encoded(obj)
	if err != nil {
		return err
	}
	if err := a.Request.Context().Err(); errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	writeBody(a.Writer, a.Request, code, a.Output, b)
	return nil
}

// encoded is the object in the form that was negotiated.
func (a *Response) encoded(obj runtime.Object) ([]byte, error) {
	if a.Output.Transform != negotiation.None {
		return a.transformed(obj)
	}
	defer request.Time(a.Request.Context(), request.Serialization).Stop()
	return a.Scope.Encode(obj, a.Output.MediaType)
}

// Encode writes an object of the hub version in the served version.
func (s *Scope) Encode(obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	if stored, ok := obj.(rest.Stored); ok {
		if mt == wire.YAML {
			b, err := stored.Wire(s.Kind.GroupVersion(), wire.JSON)
			if err != nil {
				return nil, err
			}
			return toYAML(b)
		}
		return stored.Wire(s.Kind.GroupVersion(), mt)
	}
	if meta.IsListType(obj) {
		return s.encodeList(obj, mt)
	}
	versioned, err := s.Codec.FromHub(obj)
	if err != nil {
		return nil, err
	}
	return s.Codec.Encode(nil, versioned, mt)
}

// decoded returns the object itself where it is still bytes.
func decoded(obj runtime.Object) (runtime.Object, error) {
	if stored, ok := obj.(rest.Stored); ok {
		return stored.Decode()
	}
	return obj, nil
}
