package mux

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"

	"triplane.dev/generic/base/routes"
)

// testService has one set of routes.
type testService struct {
	root string
	set  []routes.Route
}

func (s testService) Root() string                     { return s.root }
func (s testService) Sets() []string                   { return []string{"all"} }
func (s testService) SetOf(path string) (string, bool) { return "all", path != "unknown" }
func (s testService) Routes(string) []routes.Route     { return s.set }

// paths are routes of the core group.
var paths = [][3]string{
	{"GET", "/", "resources"},
	{"GET", "/namespaces/{name}", "namespace"},
	{"GET", "/namespaces/{namespace}/pods", "pods"},
	{"POST", "/namespaces/{namespace}/pods", "create"},
	{"GET", "/namespaces/{namespace}/pods/{name}", "pod"},
	{"GET", "/namespaces/{namespace}/pods/{name}/proxy", "proxy"},
	{"GET", "/namespaces/{namespace}/pods/{name}/proxy/{path:*}", "proxy path"},
	{"GET", "/namespaces/{name}/status", "status"},
	{"GET", "/watch/pods", "watch"},
}

var produces = []string{"application/json", "application/yaml"}

// testHandler has the routes of a server with the core group and apps, and a service in the container.
func testHandler(notFound http.Handler) *APIServerHandler {
	h := NewAPIServerHandler("test", notFound)
	core := testService{root: "/api/v1"}
	for _, p := range paths {
		core.set = append(core.set, routes.Route{Method: p[0], Path: core.root + p[1], Produces: produces,
			Consumes: []string{"*/*"}, Handler: says(p[2]), Describe: func(d *restful.Route) { d.Doc = p[2] }})
	}
	h.Add(core)
	for _, root := range []string{"/api", "/apis", "/apis/apps"} {
		h.Add(&routes.Document{Path: root, Produces: produces[:1], Handler: says("root " + root)})
	}
	h.GoRestfulContainer.Add(library("/embedded"))
	return h
}

// library returns a service of go-restful with the same routes.
func library(root string) *restful.WebService {
	ws := new(restful.WebService).Path(root).Consumes("*/*").Produces(produces...)
	for _, p := range paths {
		ws.Route(ws.Method(p[0]).Path(p[1]).To(func(_ *restful.Request, resp *restful.Response) {
			io.WriteString(resp.ResponseWriter, p[2])
		}))
	}
	return ws
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
		{"GET", "/api/v1/unknown", "", 404, ""},
		{"GET", "/embedded/namespaces/a/pods/p", "", 200, "pod"},
		{"DELETE", "/embedded/namespaces/a/pods/p", "", 405, ""},
		{"GET", "/embedded/cats", "", 404, ""},
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

func TestDocumentsHaveDescriptions(t *testing.T) {
	shown := map[string]string{}
	for _, ws := range testHandler(says("")).WebServices() {
		for _, r := range ws.Routes() {
			shown[r.Method+" "+r.Path] = r.Doc
		}
	}
	if shown["GET /api/v1/watch/pods"] != "watch" || len(shown) != 2*len(paths)+3 {
		t.Errorf("documents show %v", shown)
	}
}

func TestPanicsAreResponses(t *testing.T) {
	h := NewAPIServerHandler("test", says("delegate"))
	h.Add(&routes.Document{Path: "/apis", Handler: func(http.ResponseWriter, *http.Request) { panic("at the disco") }})
	w := httptest.NewRecorder()
	h.Director.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/apis", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), "This request caused apiserver to panic") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestServicesAreOpenedLater(t *testing.T) {
	h, opened := NewAPIServerHandler("test", says("delegate")), 0
	h.AddLater("/api", func() (routes.Service, error) {
		opened++
		return nil, errors.New("no group")
	})
	for range 2 {
		w := httptest.NewRecorder()
		h.Director.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api", nil))
		if w.Code != 500 || !strings.Contains(w.Body.String(), "no group") || opened != 1 {
			t.Errorf("%d %s, opened %d times", w.Code, w.Body, opened)
		}
	}
}

// The router must select the same route as the library's own router.
func FuzzRouterAgreesWithTheLibrary(f *testing.F) {
	for _, path := range []string{"/api/v1", "/api/v1/namespaces/a/pods/p/proxy/x//y/", "/api/v1//", "/api/v1/watch/pods/"} {
		f.Add("GET", path, "application/json")
	}
	f.Add("POST", "/api/v1/namespaces/a/pods", "")
	h := testHandler(says(""))
	theirs := []*restful.WebService{library("/api/v1")}
	f.Fuzz(func(t *testing.T, method, path, accept string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL.Path = method, path
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		s, root := h.router.find(path)
		if root != "/api/v1" {
			return
		}
		route := s.route(path, method, root)
		if route == nil || !accepts(route, r) {
			return // the library decides
		}
		if _, want, err := (restful.CurlyRouter{}).SelectRoute(theirs, r); err != nil || route.Path != want.Path ||
			route.Method != want.Method {
			t.Fatalf("%s %q: %s %s, the library: %v, %v", method, path, route.Method, route.Path, want, err)
		}
	})
}

func BenchmarkRouter(b *testing.B) {
	h := testHandler(says(""))
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/p", nil)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.Director.ServeHTTP(w, r)
	}
}
