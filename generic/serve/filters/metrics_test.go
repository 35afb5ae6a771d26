package filters

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/requestmetrics"
)

func TestSeriesOfRequests(t *testing.T) {
	resource := func(verb, name, subresource, scope string) requestmetrics.Series {
		return requestmetrics.Series{Verb: verb, Version: "v1", Resource: name, Subresource: subresource, Scope: scope}
	}
	for _, c := range []struct {
		method, path string
		want         requestmetrics.Series
	}{
		{"GET", "/api/v1/namespaces/a/pods", resource("LIST", "pods", "", "namespace")},
		{"DELETE", "/api/v1/namespaces/a/pods", resource("DELETE", "pods", "", "namespace")},
		{"DELETE", "/api/v1/namespaces/a/pods/p", resource("DELETE", "pods", "", "resource")},
		{"GET", "/api/v1/namespaces/a/pods/p/log", resource("CONNECT", "pods", "log", "resource")},
		{"POST", "/api/v1/namespaces/a/pods/p/exec", resource("CONNECT", "pods", "exec", "resource")},
		{"HEAD", "/readyz", requestmetrics.Series{Verb: "GET", Subresource: "/readyz"}},
		{"GET", "/readyz/etcd", requestmetrics.Series{Verb: "GET"}},
		{"GET", "/apis", requestmetrics.Series{Verb: "GET", Subresource: "apis"}},
		{"GET", "/openapi/v3/apis/apps/v1", requestmetrics.Series{Verb: "GET", Subresource: "openapi/v3/"}},
		{"OPTIONS", "/version", requestmetrics.Series{Verb: "other"}},
		{"INVENTED", "/invented", requestmetrics.Series{Verb: "other"}},
	} {
		var info request.Info
		if err := info.Parse(c.method, c.path, ""); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Method = c.method
		if got := seriesOf(r, &info); got != c.want {
			t.Errorf("%s %s: %+v", c.method, c.path, got)
		}
	}
}
