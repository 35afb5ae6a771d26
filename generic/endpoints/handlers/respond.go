package handlers

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/endpoints/negotiation"
	"triplane/generic/registry/rest"
	"triplane/generic/request"
	"triplane/generic/wire"
)

// answer is one answer under way.
type answer struct {
	scope *RequestScope
	w     http.ResponseWriter
	r     *http.Request
	out   negotiation.Output
	// newList makes the typed list that tables of lists are made from.
	newList func() runtime.Object
}

// respond answers with what the storage returned: objects of the hub version,
// or bytes.
func (a *answer) respond(code int, obj runtime.Object) {
	if status, ok := obj.(*metav1.Status); ok {
		a.status(code, status)
		return
	}
	list, isList := obj.(*rest.StoredList)
	if isList && request.SkipsUnreadable(a.r.Context()) {
		list.DropUnreadable(a.r.Context())
	}
	a.audit(obj)
	var b []byte
	var done bool
	var err error
	switch {
	case a.out.Transform != negotiation.None:
		if isList {
			if done, err = a.storedTable(code, list); done || err != nil {
				break
			}
		}
		b, err = a.transformed(obj)
	default:
		if isList {
			err = a.storedList(code, list)
			if err == nil {
				return
			}
			break
		}
		timer := request.Time(a.r.Context(), request.Serialization)
		b, err = a.scope.encode(obj, a.out.MediaType)
		timer.Stop()
	}
	if err != nil {
		if isList {
			err = list.ReadError(err)
		}
		a.scope.fail(a.w, a.r, err)
		return
	}
	if !done {
		writeBody(a.w, a.r, code, a.out, b)
	}
}

// status answers with a Status that the storage returned. It has no code of its
// own unless the storage gave it one.
func (a *answer) status(code int, status *metav1.Status) {
	if status.Kind == "" {
		status = status.DeepCopy()
		status.Kind, status.APIVersion = "Status", "v1"
	}
	request.AuditFrom(a.r.Context()).ResponseStatus(status)
	b, err := wire.MarshalStatus(status, a.out.MediaType)
	if err != nil {
		a.scope.fail(a.w, a.r, err)
		return
	}
	writeBody(a.w, a.r, code, a.out, b)
}

// encode writes an object of the hub version in the served version.
func (s *RequestScope) encode(obj runtime.Object, mt wire.MediaType) ([]byte, error) {
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
