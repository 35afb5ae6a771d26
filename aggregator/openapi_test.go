package aggregator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
)

// external serves OpenAPI like an external API server.
type external struct {
	hash      string // of /openapi/v3; "" where only v2 is known
	none      bool   // knows no OpenAPI at all
	requested []string
	// meanwhile is called before a response, if it is not nil.
	meanwhile func()
}

func (e *external) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.requested = append(e.requested, r.URL.Path)
	if e.meanwhile != nil {
		e.meanwhile()
	}
	switch {
	case e.none:
		http.NotFound(w, r)
	case r.URL.Path == "/openapi/v2":
		io.WriteString(w, `{"swagger":"2.0","info":{"title":"old","version":"1"},"paths":{
			"/apis/ext.example.com/v1/things":{"get":{"operationId":"list","produces":["application/json"],"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.Thing"}}}}},
			"/healthz":{"get":{"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.Other"}}}}}},
			"definitions":{"com.example.Thing":{"type":"object"},"com.example.Other":{"type":"object"}}}`)
	case e.hash == "":
		http.NotFound(w, r)
	case r.URL.Path == "/openapi/v3":
		io.WriteString(w, `{"paths":{"apis/ext.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/ext.example.com/v1?hash=`+e.hash+`"}}}`)
	case r.URL.Path == "/openapi/v3/apis/ext.example.com/v1":
		io.WriteString(w, `{"openapi":"3.0.0","info":{"title":"`+e.hash+`","version":"1"}}`)
	}
}

func TestRemoteDocuments(t *testing.T) {
	e := &external{hash: "ONE"}
	remote := httptest.NewTLSServer(e)
	defer remote.Close()
	service := openapi.NewService(openapi.NewBuilder(&models.Source{}, runtime.NewScheme(), "1.36"))
	d := &documents{ctx: t.Context(), service: service, fetcher: &fetcher{resolver: fixedResolver(remote.Listener.Addr().String())}}
	get := func(path string) string {
		h := service.V3Handler()
		if path == "/openapi/v2" {
			h = service.V2Handler()
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	const path = "/openapi/v3/apis/ext.example.com/v1"
	s := remoteService(apiregistrationv1.ConditionTrue)
	d.set(s)
	d.check(s)
	if len(e.requested) > 0 {
		t.Errorf("nobody requested, the server was requested %v", e.requested)
	}
	index := get("/openapi/v3")
	if !strings.Contains(index, path+"?hash=") {
		t.Errorf("index %s", index)
	}
	if doc := get(path); !strings.Contains(doc, `"title":"ONE"`) {
		t.Errorf("document %s", doc)
	}

	before := len(e.requested)
	d.set(s) // as each event of the APIService does
	if get(path); len(e.requested) != before {
		t.Errorf("fetched again: %v", e.requested[before:])
	}
	e.hash = "TWO"
	d.check(s)
	if doc := get(path); !strings.Contains(doc, `"title":"TWO"`) || get("/openapi/v3") == index {
		t.Errorf("the old document is kept: %s", doc)
	}

	doc := get("/openapi/v2")
	for text, want := range map[string]bool{"/apis/ext.example.com/v1/things": true, "com.example.Thing": true, "com.example.Other": false, "/healthz": false} {
		if strings.Contains(doc, text) != want {
			t.Errorf("%s in v2: want %v: %s", text, want, doc)
		}
	}
	e.hash = ""
	d.check(s)
	if doc := get(path); !strings.Contains(doc, `"#/components/schemas/com.example.Thing"`) {
		t.Errorf("converted from v2: %s", doc)
	}
	e.none = true
	d.set(remoteService(apiregistrationv1.ConditionFalse))
	d.set(remoteService(apiregistrationv1.ConditionTrue))
	if doc := get(path); doc != "" {
		t.Errorf("of a server without documents: %s", doc)
	}

	d.set(remoteService(apiregistrationv1.ConditionFalse))
	if index := get("/openapi/v3"); strings.Contains(index, "ext.example.com") {
		t.Errorf("not available, but in the index: %s", index)
	}
}

// TestLocalDocumentsStay checks that local documents are not replaced.
func TestLocalDocumentsStay(t *testing.T) {
	service := openapi.NewService(openapi.NewBuilder(&models.Source{}, runtime.NewScheme(), "1.36"))
	d := &documents{ctx: t.Context(), service: service, fetcher: &fetcher{}}
	local := localAPIService(builtIn(groupVersion(remoteService(apiregistrationv1.ConditionTrue))))
	service.Set(documentPath(local), localSource{})
	d.set(local)
	d.remove(local)
	remote := remoteService(apiregistrationv1.ConditionTrue) // as somebody makes of the APIService of a CRD
	d.set(remote)
	d.remove(remote)
	if sourceOf(service, local) != (localSource{}) {
		t.Error("a local document was removed")
	}
}

// TestCheckOfWhatHasGone removes an APIService while the hash is requested from its server.
func TestCheckOfWhatHasGone(t *testing.T) {
	e := &external{hash: "ONE"}
	remote := httptest.NewTLSServer(e)
	defer remote.Close()
	service := openapi.NewService(openapi.NewBuilder(&models.Source{}, runtime.NewScheme(), "1.36"))
	d := &documents{ctx: t.Context(), service: service, fetcher: &fetcher{resolver: fixedResolver(remote.Listener.Addr().String())}}
	s := remoteService(apiregistrationv1.ConditionTrue)
	d.set(s)
	remoteSource{d, s}.Hash() // somebody asks
	e.hash, e.meanwhile = "TWO", func() { d.remove(s) }
	d.check(s)
	if present := sourceOf(service, s); present != nil {
		t.Errorf("the document of an APIService that has gone is there: %v", present)
	}
}

// localSource is a local document.
type localSource struct{}

func (localSource) V3(*openapi.Draft) error { return nil }
func (localSource) V2(*openapi.Draft) error { return nil }

func sourceOf(service *openapi.Service, s *apiregistrationv1.APIService) (found openapi.Source) {
	service.SetIf(documentPath(s), nil, func(present openapi.Source) bool {
		found = present
		return false
	})
	return found
}
