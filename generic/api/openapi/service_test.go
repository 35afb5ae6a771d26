package openapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/emicklei/go-restful/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/generic/api/openapi/models"
)

// fakeSource counts what is asked of it.
type fakeSource struct {
	title string
	err   error
	built *atomic.Int32
}

func (s fakeSource) V3(d *Draft) error {
	s.built.Add(1)
	d.About(s.title, "")
	return s.err
}

func (s fakeSource) V2(d *Draft) error {
	if s.err != nil {
		return s.err
	}
	text := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}, Default: "x"}}
	return d.Merge(&spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Definitions: spec.Definitions{"com.example." + s.title: {SchemaProps: spec.SchemaProps{
			Properties: map[string]spec.Schema{"text": text}, Items: &spec.SchemaOrArray{Schema: &text},
		}}},
		Paths: &spec.Paths{Paths: map[string]spec.PathItem{"/apis/" + s.title: {}}},
	}})
}

// hashedSource knows its hash.
type hashedSource struct{ fakeSource }

func (s hashedSource) Hash() string { return s.title }

func newTestService() *Service {
	s := NewService(NewBuilder(&models.Source{}, scheme.Scheme, "1.36"))
	ws := new(restful.WebService).Path("/api/v1").Produces("application/json")
	ws.Route(ws.GET("/namespaces/{namespace}/configmaps").To(func(*restful.Request, *restful.Response) {}).
		Operation("listCoreV1NamespacedConfigMap").Doc("list objects of kind ConfigMap").
		Param(ws.PathParameter("namespace", "where")).
		Returns(200, "OK", corev1.ConfigMapList{}).Writes(corev1.ConfigMapList{}))
	logs := new(restful.WebService).Path("/logs")
	logs.Route(logs.GET("").To(func(*restful.Request, *restful.Response) {}).Operation("logs"))
	s.AddWebServices(func() []WebService { return []WebService{served(ws), served(logs)} })
	return s
}

func served(ws *restful.WebService) WebService {
	return WebService{Path: ws.RootPath(), Parameters: ws.PathParameters(), Routes: ws.Routes}
}

func ask(t *testing.T, h http.Handler, path string, headers ...string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, w.Body.String()
}

// index returns the URL of each document.
func index(t *testing.T, s *Service) map[string]string {
	t.Helper()
	_, body := ask(t, s.V3Handler(), "/openapi/v3")
	var doc struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out := map[string]string{}
	for path, item := range doc.Paths {
		out[path] = item.ServerRelativeURL
	}
	return out
}

func TestIndex(t *testing.T) {
	s := newTestService()
	var plain, hashed, broken atomic.Int32
	s.Set("apis/a.example.com/v1", fakeSource{title: "a", built: &plain})
	s.Set("apis/b.example.com/v1", hashedSource{fakeSource{title: "b", built: &hashed}})
	s.Set("apis/c.example.com/v1", fakeSource{err: errors.New("no"), built: &broken})
	first := index(t, s)
	if len(first) != 3 || first["api/v1"] == "" || first["apis/c.example.com/v1"] != "" || first["logs"] != "" {
		t.Errorf("index %v", first)
	}
	if hashed.Load() != 0 || plain.Load() != 1 {
		t.Errorf("documents were built: %d with a hash, %d without", hashed.Load(), plain.Load())
	}
	for path, url := range first {
		resp, body := ask(t, s.V3Handler(), url)
		if resp.Code != 200 || resp.Header().Get("Cache-Control") != "public, immutable" || !strings.Contains(body, `"openapi":"3.0.0"`) {
			t.Errorf("%s: %v %s", path, resp, body)
		}
		if etag := resp.Header().Get("Etag"); !strings.HasSuffix(url, "?hash="+strings.Trim(etag, `"`)) {
			t.Errorf("%s: entity tag %s of %s", path, etag, url)
		}
	}
	ask(t, s.V3Handler(), "/openapi/v3/apis/a.example.com/v1")
	if plain.Load() != 1 || hashed.Load() != 1 {
		t.Errorf("built again: %d, %d", plain.Load(), hashed.Load())
	}

	s.Set("apis/b.example.com/v1", hashedSource{fakeSource{title: "b2", built: &hashed}})
	s.Remove("apis/a.example.com/v1")
	second := index(t, s)
	if second["apis/b.example.com/v1"] == first["apis/b.example.com/v1"] || second["apis/a.example.com/v1"] != "" || second["api/v1"] != first["api/v1"] {
		t.Errorf("before %v\nafter  %v", first, second)
	}
}

func TestDocumentRequests(t *testing.T) {
	s := newTestService()
	resp, _ := ask(t, s.V3Handler(), "/openapi/v3/api/v1")
	etag := resp.Header().Get("Etag")
	tests := []struct {
		name, path string
		headers    []string
		code       int
		has        map[string]string
	}{
		{"plain", "/openapi/v3/api/v1", nil, 200, map[string]string{"Content-Type": "application/json", "Vary": "Accept", "Cache-Control": ""}},
		{"known", "/openapi/v3/api/v1", []string{"If-None-Match", etag}, 304, map[string]string{"Etag": etag}},
		{"known, weakened by a proxy", "/openapi/v3/api/v1", []string{"If-None-Match", `"ABC", W/` + etag}, 304, nil},
		{"matches", "/openapi/v3/api/v1", []string{"If-Match", etag}, 200, nil},
		{"does not match", "/openapi/v3/api/v1", []string{"If-Match", "W/" + etag}, 412, nil},
		{"another", "/openapi/v3/api/v1", []string{"If-None-Match", `"ABC"`}, 200, nil},
		{"old hash", "/openapi/v3/api/v1?hash=ABC", nil, 301, map[string]string{"Location": "/openapi/v3/api/v1?hash=" + strings.Trim(etag, `"`)}},
		{"old hash, as JSON", "/openapi/v3/api/v1?hash=ABC", nil, 301, map[string]string{"Content-Type": "application/json"}},
		{"old hash, not acceptable", "/openapi/v3/api/v1?hash=ABC", []string{"Accept", "text/html"}, 406, nil},
		{"the index with a slash", "/openapi/v3/", nil, 404, nil},
		{"gzip", "/openapi/v3/api/v1", []string{"Accept-Encoding", "gzip"}, 200, map[string]string{"Content-Encoding": "gzip"}},
		{"protobuf", "/openapi/v3/api/v1", []string{"Accept", protoV3, "Accept-Encoding", "gzip"}, 200,
			map[string]string{"Content-Type": protoV3, "Content-Encoding": ""}},
		{"protobuf as it was", "/openapi/v3/api/v1", []string{"Accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"}, 200,
			map[string]string{"Content-Type": protoV3}},
		{"text", "/openapi/v3/api/v1", []string{"Accept", "text/plain"}, 406, nil},
		{"JSON of any type", "/openapi/v3/api/v1", []string{"Accept", "*/json"}, 200, map[string]string{"Content-Type": "application/json"}},
		{"nothing there", "/openapi/v3/apis/nobody/v1", nil, 404, nil},
		{"v2", "/openapi/v2", nil, 200, map[string]string{"Content-Type": "application/json"}},
		{"v2 in protobuf", "/openapi/v2", []string{"Accept", protoV2}, 200, map[string]string{"Content-Type": protoV2}},
		{"v2 of any tag", "/openapi/v2", []string{"If-None-Match", "*"}, 304, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := s.V3Handler()
			if strings.HasPrefix(tt.path, "/openapi/v2") {
				h = s.V2Handler()
			}
			resp, body := ask(t, h, tt.path, tt.headers...)
			if resp.Code != tt.code {
				t.Fatalf("%d %s", resp.Code, body)
			}
			for name, want := range tt.has {
				if got := resp.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestRoutesDocument(t *testing.T) {
	s := newTestService()
	_, body := ask(t, s.V3Handler(), "/openapi/v3/api/v1")
	var doc spec3.OpenAPI
	if err := doc.UnmarshalJSON([]byte(body)); err != nil {
		t.Fatal(err)
	}
	op := doc.Paths.Paths["/api/v1/namespaces/{namespace}/configmaps"].Get
	if op == nil || op.OperationId != "listCoreV1NamespacedConfigMap" || !slices.Equal(op.Tags, []string{"core_v1"}) {
		t.Errorf("operation %+v", op)
	}
	m := doc.Components.Schemas["io.k8s.api.core.v1.ConfigMap"]
	if m == nil || m.Extensions[extensionGVK] == nil || doc.Components.Schemas["io.k8s.api.core.v1.Pod"] != nil {
		t.Errorf("ConfigMap %+v among %d", m, len(doc.Components.Schemas))
	}
}

func TestV2JoinsSources(t *testing.T) {
	s := newTestService()
	var n atomic.Int32
	s.Set("apis/a.example.com/v1", fakeSource{title: "a", built: &n})
	s.Set("apis/b.example.com/v1", fakeSource{title: "b", err: errors.New("no"), built: &n})
	get := func() *spec.Swagger {
		_, body := ask(t, s.V2Handler(), "/openapi/v2")
		doc := &spec.Swagger{}
		if err := doc.UnmarshalJSON([]byte(body)); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	doc := get()
	a, ok := doc.Definitions["com.example.a"]
	if _, path := doc.Paths.Paths["/apis/a"]; !ok || !path || doc.Definitions["io.k8s.api.core.v1.ConfigMap"].Properties == nil {
		t.Errorf("definitions %d, paths %d", len(doc.Definitions), len(doc.Paths.Paths))
	}
	if a.Properties["text"].Default != nil || a.Items.Schema.Default != nil {
		t.Errorf("defaults are left: %+v", a)
	}
	if _, ok := doc.Definitions["com.example.b"]; ok {
		t.Error("a part of a source that failed")
	}
	s.Remove("apis/a.example.com/v1")
	if _, ok := get().Definitions["com.example.a"]; ok {
		t.Error("a removed source is still there")
	}
}

// TestSlowSourceHoldsUpNobody asks for other documents while one is being built.
func TestSlowSourceHoldsUpNobody(t *testing.T) {
	s := newTestService()
	entered, leave := make(chan struct{}), make(chan struct{})
	s.Set("apis/slow.example.com/v1", slowSource{entered, leave})
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(t, s.V3Handler(), "/openapi/v3/apis/slow.example.com/v1")
	}()
	<-entered
	if resp, _ := ask(t, s.V3Handler(), "/openapi/v3/api/v1"); resp.Code != 200 {
		t.Errorf("status %d", resp.Code)
	}
	s.Set("apis/other.example.com/v1", slowSource{})
	close(leave)
	<-done
}

type slowSource struct{ entered, leave chan struct{} }

func (s slowSource) V3(*Draft) error {
	close(s.entered)
	<-s.leave
	return nil
}

func (slowSource) V2(*Draft) error { return nil }

func TestTags(t *testing.T) {
	for path, want := range map[string]string{
		"/api/": "core", "/api/v1/pods": "core_v1", "/apis/": "apis", "/apis/apps/": "apps", "/apis/apps/v1/deployments": "apps_v1",
		"/apis/rbac.authorization.k8s.io/v1/roles": "rbacAuthorization_v1", "/apis/flowcontrol.apiserver.k8s.io/": "flowcontrolApiserver",
		"/version/": "version", "/.well-known/openid-configuration/": "WellKnown", "/openid/v1/jwks/": "openid",
	} {
		if got := tag(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestKindsOfEverywhere(t *testing.T) {
	kinds := kindsByModel(runtime.NewScheme(), allVersions())[metaPackage+"DeleteOptions"]
	if len(kinds) != len(ClientVersions())+len(serverVersions) || kinds[0].String() != "/v1, Kind=DeleteOptions" {
		t.Errorf("%d kinds, first %v", len(kinds), kinds[0])
	}
	if !slices.IsSortedFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.Group+"/"+a.Version, b.Group+"/"+b.Version)
	}) {
		t.Errorf("order %v", kinds)
	}
}

// BenchmarkIndex is what the index costs that lists many custom groups.
func BenchmarkIndex(b *testing.B) {
	s := newTestService()
	var n atomic.Int32
	for i := range 10000 {
		s.Set("apis/"+strings.Repeat("a", i%40)+string(rune('a'+i%26))+".example.com/v1", hashedSource{fakeSource{built: &n}})
	}
	h := s.V3Handler()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/openapi/v3", nil))
	}
}

func BenchmarkV2(b *testing.B) {
	for b.Loop() {
		if _, _, err := newTestService().buildV2(nil); err != nil {
			b.Fatal(err)
		}
	}
}
