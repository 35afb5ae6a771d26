package request

import (
	"maps"
	"net/http"
)

// KeepHeaders returns a writer whose final answer has the headers that w has now, also behind
// informational answers (1xx), after each of which httputil.ReverseProxy clears all headers.
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

// Unwrap lets http.ResponseController find what the connection can do.
func (k *headerKeeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
