package apiextensions

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/storage/cache"
)

func ask(ctx context.Context, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	contentType := "application/json"
	if method == "PATCH" {
		contentType = "application/merge-patch+json"
	}
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// serveWidgets starts a server that has the CRD.
func serveWidgets(t *testing.T) (*Server, http.Handler, func() int) {
	t.Helper()
	s, mux := startWhole(t)
	h := s.GenericAPIServer.Handler.FullHandlerChain
	ask(t.Context(), h, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets)
	for deadline := time.Now().Add(5 * time.Second); ask(t.Context(), h, "GET", "/apis/example.com/v1/widgets", "").Code != 200; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the CRD is not served")
		}
	}
	return s, h, func() (n int) {
		mux.Each(func(*cache.Cache) { n++ })
		return n
	}
}

func TestIdleDrop(t *testing.T) {
	s, h, caches := serveWidgets(t)
	const list = "/apis/example.com/v1/namespaces/a/widgets"
	ask(t.Context(), h, "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`)
	if n := s.handler.dropIdle(time.Now().Add(-time.Minute)); n != 0 {
		t.Fatalf("%d were dropped that had been used", n)
	}
	later := time.Now().Add(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { ask(ctx, h, "GET", list+"?watch=true", "") })
	for s.catalogue.find(named("widgets.example.com")).generation.endpoint.Load().watches.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := s.handler.dropIdle(later); n != 0 {
		t.Fatal("a resource was dropped that is watched")
	}
	cancel()
	watch.Wait()
	before := caches()
	if n := s.handler.dropIdle(later); n != 1 {
		t.Fatalf("%d were dropped", n)
	}
	if now := caches(); now != before-1 || s.catalogue.find(named("widgets.example.com")).generation.endpoint.Load() != nil {
		t.Fatalf("there are %d caches where %d were", now, before)
	}
	if w := ask(t.Context(), h, "GET", list, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"a"`) {
		t.Errorf("after the drop: %d %s", w.Code, w.Body)
	}
}

// TestIdleDropUnderLoad drops all the time: no request may notice.
func TestIdleDropUnderLoad(t *testing.T) {
	s, h, _ := serveWidgets(t)
	const list = "/apis/example.com/v1/namespaces/a/widgets"
	ask(t.Context(), h, "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 100 {
				if w := ask(t.Context(), h, "GET", list, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"a"`) {
					t.Errorf("%d %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for dropped := 0; ; {
		select {
		case <-done:
			if dropped == 0 {
				t.Error("nothing was dropped meanwhile")
			}
			return
		default:
			dropped += s.handler.dropIdle(time.Now().Add(time.Minute))
		}
	}
}
