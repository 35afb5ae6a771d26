package responsewriters

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/storage/wire"
)

// WriteObject answers with an object that brings its kind and looks the same in
// every version, as discovery documents do. It only reads the object.
func WriteObject(w http.ResponseWriter, r *http.Request, code int, obj runtime.Object,
	rules negotiation.Rules) {
	out, err := negotiation.Negotiate(r, rules)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	b, err := wire.Marshal(obj, out.MediaType)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	writeBody(w, r, code, out, b)
}
