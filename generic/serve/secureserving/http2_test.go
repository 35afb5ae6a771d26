package secureserving

import (
	"net/http"
	"testing"
)

// Only requests for the server as a whole pass net/http's handlers.
func TestDirect(t *testing.T) {
	served := func(by string, got *string) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { *got = by })
	}
	for target, want := range map[string]string{"/api": "handler", "*": "net/http"} {
		var got string
		r := &http.Request{Method: http.MethodOptions, RequestURI: target}
		(&direct{served("handler", &got), served("net/http", &got)}).ServeHTTP(nil, r)
		if got != want {
			t.Errorf("%s is served by %s", target, got)
		}
	}
}
