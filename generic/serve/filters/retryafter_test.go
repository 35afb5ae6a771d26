package filters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"triplane.dev/generic/guard/authentication"
)

func TestRetryAfterDuringShutdown(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		on, stopping, own bool
		path              string
		code              int
	}{
		{true, false, false, "/api", http.StatusNoContent},
		{true, true, false, "/api", http.StatusTooManyRequests},
		{true, true, false, "/api/v1/pods?watch=true", http.StatusTooManyRequests},
		{true, true, false, "/readyzX", http.StatusTooManyRequests},
		{true, true, false, "/readyz", http.StatusNoContent},
		{true, true, false, "/livez/ping", http.StatusNoContent},
		{true, true, true, "/api", http.StatusNoContent},
		{false, true, false, "/api", http.StatusNoContent},
	} {
		g := &WaitGroup{}
		if c.stopping {
			if err := g.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.own {
			r = r.WithContext(authentication.WithLoopback(r.Context()))
		}
		w := httptest.NewRecorder()
		h := http.Handler(served)
		if f := withRetryAfter(RetryAfterOptions{c.on}, WaitGroupOptions{g}); f != nil {
			h = f(h)
		}
		h.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if refused := w.Code == http.StatusTooManyRequests; refused && (w.Header().Get("Retry-After") != "5" || w.Header().Get("Connection") != "close") {
			t.Errorf("%+v: %v", c, w.Header())
		}
	}
}
