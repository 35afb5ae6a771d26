package apiextensions

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilschema "k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
	"triplane/generic/registry"
	"triplane/generic/server"
	"triplane/generic/storage"
	"triplane/generic/storage/cache"
	"triplane/generic/storage/embedded"
)

// testOptions keeps everything in one hub.
type testOptions struct {
	hub     *cache.Hub
	backend storage.Backend
}

func (o testOptions) GetRESTOptions(utilschema.GroupResource) (registry.RESTOptions, error) {
	return registry.RESTOptions{
		Backend: o.backend, Prefix: "/registry", Budget: storage.NewBudget(1 << 20), DeleteCollectionWorkers: 1,
		Cache: func(c registry.CacheConfig) storage.Cache {
			return o.hub.Cache(cache.Config{Prefix: c.Prefix, Namespaced: c.Namespaced, Attributes: c.Attributes, IndexField: c.IndexField})
		},
		DropCache: o.hub.Drop,
	}, nil
}

// startServer runs a CRD server on its own over an embedded etcd, and returns
// its handler.
func startServer(t *testing.T) http.Handler {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	hub := cache.NewHub(etcd.Backend(), "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	hubDone := make(chan struct{})
	go func() { defer close(hubDone); hub.Run(ctx) }()

	config := server.NewConfig()
	config.EnableDiscovery = true
	config.OpenAPI = openapi.NewService(openapi.NewBuilder(&models.Source{}, runtime.NewScheme(), "v1"))
	config.RESTOptionsGetter = testOptions{hub: hub, backend: etcd.Backend()}
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
		<-hubDone
		etcd.Close()
	})
	select {
	case <-s.CRDsKnown():
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not become ready")
	}
	return s.GenericAPIServer.Handler.FullHandlerChain
}

func TestScratchServe(t *testing.T) {
	file := os.Getenv("SCRATCH_SERVE")
	if file == "" {
		t.Skip()
	}
	h := startServer(t)
	ts := httptest.NewUnstartedServer(h)
	ts.EnableHTTP2 = true
	ts.StartTLS()
	defer ts.Close()
	os.WriteFile(file, []byte(ts.URL), 0o644)
	for {
		time.Sleep(200 * time.Millisecond)
		if _, err := os.Stat(file); err != nil {
			return
		}
	}
}
