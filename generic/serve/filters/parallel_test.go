package filters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

// BenchmarkChainParallel shows what concurrent requests share: with -cpu 1,2,4 the time of a request is divided by the
// number of processors, unless they wait for each other.
func BenchmarkChainParallel(b *testing.B) {
	o := flowOptions(600)
	known := &authentication.Response{User: &user.Info{Name: "alice"}}
	o.Authentication = authentication.AuthenticatedGroup(authentication.Bearer(authentication.TokenFunc(
		func(context.Context, string) (*authentication.Response, error) { return known, nil })))
	o.Authorization = nil
	h := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.MarkServed(r.Context())
		w.WriteHeader(http.StatusOK)
	}), o)
	authorization := []string{"Bearer admin"}
	b.RunParallel(func(p *testing.PB) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods/p", nil)
		w := &discard{h: http.Header{}}
		for p.Next() {
			clear(w.h)
			r.Header["Authorization"] = authorization
			h.ServeHTTP(w, r)
		}
	})
}
