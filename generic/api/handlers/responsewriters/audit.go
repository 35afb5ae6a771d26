package responsewriters

import (
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// audit records the response as JSON, whatever its media type.
func (a *Response) audit(obj runtime.Object) {
	rec := audit.RecordFrom(a.Request.Context())
	if !rec.Records(audit.LevelRequestResponse) {
		return
	}
	plain := *a
	plain.Output.MediaType = wire.JSON
	list, stored := obj.(*rest.StoredList)
	var doc []byte
	var err error
	switch {
	case plain.Output.Transform != negotiation.None:
		doc, err = plain.transformed(obj)
	case stored:
		var e *envelope
		e, err = a.Scope.storedEnvelope(a.Request.Context(), nil, list, wire.JSON, audit.MaxObject)
		if err != nil {
			break
		}
		if e.more != nil || e.size() > audit.MaxObject {
			rec.Annotate(audit.TruncatedAnnotation, "true")
			return
		}
		doc = e.bytes()
	default:
		doc, err = a.Scope.Encode(obj, wire.JSON)
	}
	if err == nil { // errors are answered to the client
		rec.ResponseObject(doc)
	}
}
