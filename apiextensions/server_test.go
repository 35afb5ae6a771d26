package apiextensions

import (
	"context"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilschema "k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
)

// testOptions keeps everything in one multiplexer.
type testOptions struct {
	mux     *cache.Multiplexer
	backend storage.Backend
}

func (o testOptions) GetRESTOptions(utilschema.GroupResource) (registry.RESTOptions, error) {
	return registry.RESTOptions{
		Backend: o.backend, Prefix: "/registry", Budget: storage.NewBudget(1 << 20), DeleteCollectionWorkers: 1,
		Cache: func(c storage.CacheConfig) storage.Cache {
			return o.mux.Cache(cache.Config{CacheConfig: c})
		},
		DropCache: o.mux.Drop,
	}, nil
}

// startServer runs a CRD server on its own over an embedded etcd, and returns
// its handler.
func startServer(t *testing.T) http.Handler {
	t.Helper()
	s, _ := startWhole(t)
	return s.GenericAPIServer.Handler.FullHandlerChain
}

// startWhole returns the server itself, and the multiplexer of its caches.
func startWhole(t *testing.T) (*Server, *cache.Multiplexer) {
	t.Helper()
	s, mux, _ := startOn(t, nil)
	select {
	case <-s.CRDsKnown():
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not become ready")
	}
	return s, mux
}

// startOn runs the server on an etcd that holds values, by the names of CRDs.
func startOn(t *testing.T, stored map[string]string) (*Server, *cache.Multiplexer, storage.Backend) {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range stored {
		if _, err := etcd.Backend().Create(t.Context(), definitionKey+name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	mux := cache.NewMultiplexer(etcd.Backend(), "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	muxDone := make(chan struct{})
	go func() { defer close(muxDone); _ = mux.Run(ctx) }()

	config := server.NewConfig()
	config.EnableDiscovery = true
	config.OpenAPI = openapi.NewService(openapi.NewBuilder(&models.Source{}, runtime.NewScheme(), "v1"))
	config.RESTOptionsGetter = testOptions{mux: mux, backend: etcd.Backend()}
	s, err := (&Config{Generic: config}).Complete().New(server.EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	prepared := s.GenericAPIServer.PrepareRun()
	runDone := make(chan error, 1)
	go func() { runDone <- prepared.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-runDone; err != nil {
			t.Error(err)
		}
		<-muxDone
		etcd.Close()
	})
	return s, mux, etcd.Backend()
}

const definitionKey = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

//
//go:embed customresourcedefinition/testdata/widgets.json
var widgets string

// sender returns what sends a body in JSON, or a merge patch, and returns the answer.
func sender(h http.Handler) func(method, path, body string) (int, string) {
	return func(method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if method == "PATCH" {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
}

func TestWidgets(t *testing.T) {
	h := startServer(t)
	do := sender(h)
	const crds, list = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/namespaces/a/widgets"
	until := func(path string, code int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			got, body := do("GET", path, "")
			if got == code {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %s", path, got, body)
			}
		}
	}
	if code, body := do("GET", list, ""); code != 404 {
		t.Fatalf("before the definition: %d %s", code, body)
	}
	if code, body := do("POST", crds, widgets); code != 201 {
		t.Fatalf("definition: %d %s", code, body)
	}
	until(list, 200)
	for _, step := range []struct {
		name, method, path, body string
		code                     int
		has                      string
	}{
		{"defaults", "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{}}`, 201, `"size":3`},
		{"pruning", "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"name":"x","more":1}}`, 201, `"spec":{"name":"x","size":3}`},
		{"schema", "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"name":"longer"}}`, 422, "may not be more than 5 bytes"},
		{"rule", "POST", list, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"size":12}}`, 422, "too big"},
		{"strict", "POST", list + "?fieldValidation=Strict", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"more":1}}`, 400, `unknown field \"spec.more\"`},
		{"discovery", "GET", "/apis/example.com/v1", "", 200, `"name":"widgets"`},
		{"its storage version", "GET", "/apis/example.com/v1", "", 200, `"storageVersionHash":"`},
		{"a name is missed before the kind", "PUT", list + "/a", `{"apiVersion":"example.com/v1","kind":"Other"}`, 400, "name must be provided"},
		{"another kind", "POST", list, `{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"c"}}`, 422, "must be Widget"},
		{"another kind after the version", "PUT", list + "/a", `{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"a"}}`, 422, `widgets.example.com \"a\" is invalid: metadata.resourceVersion`},
		{"another kind of what is not there", "PUT", list + "/z", `{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"z","uid":"u"}}`, 404, "not found"},
		{"another kind and group", "PATCH", list + "/a", `{"apiVersion":"other.io/v1","kind":"Other"}`, 422,
			`Other.other.io \"a\" is invalid: [kind: Invalid value: \"Other\": must be Widget, apiVersion: Invalid value: \"other.io/v1\": must be example.com/v1]`},
		{"another kind, strictly", "POST", list + "?fieldValidation=Strict", `{"apiVersion":"example.com/v1","kind":"Widget","kind":"Other"}`, 400,
			`Other in version \"v1\" cannot be handled as a Other: strict decoding error: duplicate field \"kind\"`},
		{"no kind", "POST", list, `{"apiVersion":"example.com/v1"}`, 400, "the object provided is unrecognized (must be of type Widget)"},
		{"no kind, and nobody asks", "POST", list + "?fieldValidation=Ignore", `{"apiVersion":"example.com/v1"}`, 400, `Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing`},
		{"no version", "POST", list, `{"kind":"Widget"}`, 400, "the API version in the data () does not match"},
		{"no group version", "POST", list, `{"apiVersion":"a/b/c","kind":"Widget"}`, 400, "unexpected GroupVersion string: a/b/c"},
		{"a number for a version", "POST", list, `{"apiVersion":1,"kind":"Widget"}`, 400, "cannot unmarshal number into Go struct field .apiVersion"},
		{"an update without a name", "PUT", list,
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`, 400, `"name must be provided"`},
		{"a patch without a name", "PATCH", list, `{}`, 400, `"name must be provided"`},
		{"more than a subresource", "GET", list + "/a//status/more", "", 200, `"name":"a"`},
		{"a webhook without fields", "PATCH", crds + "/widgets.example.com?dryRun=All",
			`{"spec":{"conversion":{"webhook":{}}}}`, 200, `"conversion":{"strategy":"None"}`},
		{"a webhook without versions", "PATCH", crds + "/widgets.example.com?dryRun=All",
			`{"spec":{"conversion":{"webhook":{"conversionReviewVersions":[]}}}}`, 200,
			`"conversion":{"strategy":"None"}`},
		{"no such subresource", "GET", list + "/a/status", "", 404, `widgets.example.com \"a\" not found`},
		{"list", "GET", list, "", 200, `"kind":"WidgetList"`},
		{"status of the definition", "GET", crds + "/widgets.example.com", "", 200, "InitialNamesAccepted"},
		{"its owner", "GET", crds + "/widgets.example.com", "", 200, `{"manager":"kube-apiserver","operation":"Update","apiVersion":"apiextensions.k8s.io/v1"`},
		{"deletion", "DELETE", crds + "/widgets.example.com", "", 200, "customresourcecleanup.apiextensions.k8s.io"},
	} {
		if code, body := do(step.method, step.path, step.body); code != step.code || !strings.Contains(body, step.has) {
			t.Errorf("%s: %d %s", step.name, code, body)
		}
	}
	until(crds+"/widgets.example.com", 404)
	until(list, 404)
	if code, _ := do("POST", crds, widgets); code != 201 {
		t.Fatalf("definition again: %d", code)
	}
	until(list, 200)
	if code, body := do("GET", list, ""); code != 200 || !strings.Contains(body, `"items":[]`) {
		t.Errorf("objects survived their definition: %d %s", code, body)
	}
}

// TestInvalidBundle has a CRD whose webhook cannot be trusted: it is not published, but its
// objects are asked for as soon as its names are accepted.
func TestInvalidBundle(t *testing.T) {
	h := startServer(t)
	do := func(method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const conversion = `"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/","caBundle":"anVuaw=="}}},"scope"`
	if code, body := do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.Replace(widgets, `"scope"`, conversion, 1)); code != 201 {
		t.Fatalf("definition: %d %s", code, body)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		code, body := do("GET", "/apis/example.com/v1/namespaces/a/widgets", "")
		if code == 500 && strings.Contains(body, "error resolving resource") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("objects: %d %s", code, body)
		}
	}
	if code, body := do("GET", "/apis/example.com/v1", ""); code != 404 {
		t.Errorf("discovery: %d %s", code, body)
	}
}
