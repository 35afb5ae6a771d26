package filters

import (
	"net/http"
	"strings"
)

// withHSTS tells browsers to come back over TLS only.
func withHSTS(directives []string) func(http.Handler) http.Handler {
	if len(directives) == 0 {
		return unchanged
	}
	value := []string{strings.Join(directives, "; ")}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Strict-Transport-Security"] = value
			next.ServeHTTP(w, r)
		})
	}
}
