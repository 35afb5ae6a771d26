package mux

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/emicklei/go-restful/v3"
)

// testHandler has the routes of a server with the core group and apps.
func testHandler(notFound http.Handler) *APIServerHandler {
	h := NewAPIServerHandler("test", notFound)
	says := func(text string) restful.RouteFunction {
		return func(_ *restful.Request, resp *restful.Response) { io.WriteString(resp.ResponseWriter, text) }
	}
	core := new(restful.WebService)
	core.Path("/api/v1").Consumes("*/*").Produces("application/json", "application/yaml")
	core.Route(core.GET("/").To(says("resources")))
	core.Route(core.GET("namespaces/{name}").To(says("namespace")))
	core.Route(core.GET("namespaces/{namespace}/pods").To(says("pods")))
	core.Route(core.POST("namespaces/{namespace}/pods").To(says("create")))
	core.Route(core.GET("namespaces/{namespace}/pods/{name}").To(says("pod")))
	core.Route(core.GET("namespaces/{namespace}/pods/{name}/proxy").To(says("proxy")))
	core.Route(core.GET("namespaces/{namespace}/pods/{name}/proxy/{path:*}").To(says("proxy path")))
	core.Route(core.GET("namespaces/{name}/status").To(says("status")))
	core.Route(core.GET("watch/pods").To(says("watch")))
	h.GoRestfulContainer.Add(core)
	for _, root := range []string{"/api", "/apis", "/apis/apps"} {
		ws := new(restful.WebService)
		ws.Path(root).Produces("application/json")
		ws.Route(ws.GET("/").To(says("root " + root)))
		h.GoRestfulContainer.Add(ws)
	}
	return h
}

func TestDirector(t *testing.T) {
	h := testHandler(says("delegate"))
	h.NonGoRestfulMux.Handle("/healthz", says("healthy"))
	for _, c := range []struct {
		method, path, accept string
		code                 int
		body                 string
	}{
		{"GET", "/api/v1", "", 200, "resources"},
		{"GET", "/api/v1/", "", 200, "resources"},
		{"GET", "/api/v1/namespaces/a", "", 200, "namespace"},
		{"GET", "/api/v1/namespaces/a/", "", 200, "namespace"},
		{"GET", "/api/v1/namespaces/a/status", "", 200, "status"},
		{"GET", "/api/v1/namespaces/a/pods", "application/yaml", 200, "pods"},
		{"POST", "/api/v1/namespaces/a/pods", "", 200, "create"},
		{"GET", "/api/v1/namespaces//pods", "", 200, "pods"},
		{"GET", "/api/v1/namespaces/a/pods/p", "text/html, */*;q=0.1", 200, "pod"},
		{"GET", "/api/v1/namespaces/a/pods/p/proxy", "", 200, "proxy"},
		{"GET", "/api/v1/namespaces/a/pods/p/proxy/x/y", "", 200, "proxy path"},
		{"GET", "/api/v1/watch/pods", "", 200, "watch"},
		{"GET", "/api/v1/namespaces/a/cats", "", 404, ""},
		{"GET", "/api/v1//namespaces/a", "", 404, ""},
		{"GET", "/api/v2", "", 404, ""},
		{"PUT", "/api/v1/namespaces/a/pods", "", 405, ""},
		{"HEAD", "/api/v1", "", 405, ""},
		{"GET", "/api/v1/namespaces/a/pods/p", "text/html", 406, ""},
		{"GET", "/api", "", 200, "root /api"},
		{"GET", "/apis/", "", 200, "root /apis"},
		{"GET", "/apis/apps", "", 200, "root /apis/apps"},
		{"GET", "/apis/apps/v9/cats", "", 404, ""},
		{"GET", "/apis/appsy", "", 200, "delegate"},
		{"GET", "/apis/example.com/v1/things", "", 200, "delegate"},
		{"GET", "/healthz", "", 200, "healthy"},
		{"GET", "/nothing", "", 200, "delegate"},
		{"GET", "//api/v1", "", 200, "delegate"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, "http://x"+c.path, nil)
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		h.Director.ServeHTTP(w, r)
		if w.Code != c.code || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.code, c.body)
		}
	}
}

// A request that matches a deferred route is served, and the route is not added to the service.
func TestDeferredRoutes(t *testing.T) {
	h := NewAPIServerHandler("test", http.NotFoundHandler())
	ws := new(restful.WebService)
	ws.Path("/apis/apps/v1").Consumes("*/*").Produces("application/json")
	serve := func(_ *restful.Request, resp *restful.Response) { io.WriteString(resp.ResponseWriter, "deployments") }
	h.DeferRoutes(ws, func(described bool) []restful.Route {
		r := restful.Route{Method: http.MethodGet, Path: "/apis/apps/v1/deployments", Function: serve, Produces: []string{"application/json"}, Consumes: []string{"*/*"}}
		if described {
			r.Doc = "list deployments"
		}
		return []restful.Route{r}
	})
	h.GoRestfulContainer.Add(ws)
	documented := h.WebServices()
	if len(documented) != 1 || documented[0].Path != "/apis/apps/v1" || documented[0].Routes()[0].Doc != "list deployments" {
		t.Errorf("documents show %+v", documented)
	}
	for _, c := range []struct {
		method, path, accept string
		code, routes         int
	}{
		{"GET", "/apis/apps/v1/deployments", "", 200, 0},
		{"GET", "/apis/apps/v1/deployments/", "application/json", 200, 0},
		{"GET", "/apis/apps/v1/deployments", "text/html", 406, 1},
		{"DELETE", "/apis/apps/v1/deployments", "", 405, 1},
		{"GET", "/apis/apps/v1/cats", "", 404, 1},
		{"GET", "/apis/apps/v1/deployments", "", 200, 1},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, "http://x"+c.path, nil)
		r.Header.Set("Accept", c.accept)
		if h.Director.ServeHTTP(w, r); w.Code != c.code {
			t.Errorf("%s %s: %d %q", c.method, c.path, w.Code, w.Body)
		}
		if n := len(ws.Routes()); n != c.routes {
			t.Errorf("%s %s: the service has %d routes", c.method, c.path, n)
		}
	}
}

// The router must select the same route as the library's own router.
func FuzzRouterAgreesWithTheLibrary(f *testing.F) {
	for _, path := range []string{"/api/v1", "/api/v1/namespaces/a/pods/p/proxy/x//y/", "/api/v1//", "/apis/apps/", "/api/v1/watch/pods/"} {
		f.Add("GET", path, "application/json")
	}
	f.Add("POST", "/api/v1/namespaces/a/pods", "")
	h := testHandler(says(""))
	all := h.GoRestfulContainer.RegisteredWebServices()
	f.Fuzz(func(t *testing.T, method, path, accept string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL.Path = method, path
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		if !h.router.claims(h.GoRestfulContainer, path) {
			return
		}
		_, ours, ourErr := h.router.SelectRoute(all, r)
		services, _ := findService(*h.router.snapshot.Load(), path)
		_, theirs, theirErr := restful.CurlyRouter{}.SelectRoute([]*restful.WebService{services.ws}, r)
		if (ourErr == nil) != (theirErr == nil) {
			t.Fatalf("%s %q: %v, the library: %v", method, path, ourErr, theirErr)
		}
		if ours != nil && (ours.Path != theirs.Path || ours.Method != theirs.Method) {
			t.Fatalf("%s %q: %v, the library: %v", method, path, ours, theirs)
		}
	})
}

func BenchmarkRouter(b *testing.B) {
	h := testHandler(says(""))
	all := h.GoRestfulContainer.RegisteredWebServices()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/p", nil)
	r.Header.Set("Accept", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		if !h.router.claims(h.GoRestfulContainer, r.URL.Path) {
			b.Fatal("not claimed")
		}
		if _, _, err := h.router.SelectRoute(all, r); err != nil {
			b.Fatal(err)
		}
	}
}
