package request

import (
	"maps"
	"net/http"
)

// KeepHeaders returns a writer that adds w's current headers to the final response. httputil.ReverseProxy
// clears all headers after each informational response (1xx).
func KeepHeaders(w http.ResponseWriter) http.ResponseWriter {
	return &headerKeeper{ResponseWriter: w, own: maps.Clone(w.Header())}
}

type headerKeeper struct {
	http.ResponseWriter
	own     http.Header
	cleared bool
}

// WriteHeader implements http.ResponseWriter.
func (k *headerKeeper) WriteHeader(status int) {
	if k.cleared {
		h := k.Header()
		for name, values := range k.own {
			if _, set := h[name]; !set {
				h[name] = values
			}
		}
	}
	k.cleared = status < http.StatusOK
	k.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the inner writer for http.ResponseController.
func (k *headerKeeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
