package encryption

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secrets = schema.GroupResource{Resource: "secrets"}

const prefix = "/registry/secrets/"

// world is an etcd, and providers with a configuration file that tests can change.
type world struct {
	testing.TB
	dir       string
	etcd      *embedded.Server
	raw       storage.Backend
	providers *Providers
	view      *View
}

func newWorld(t testing.TB, config string) *world {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir()}
	var err error
	if w.etcd, err = embedded.Start(t.Context(), embedded.Config{Dir: filepath.Join(w.dir, "etcd")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.etcd.Close() })
	w.raw = w.etcd.Backend()
	opts := Options{ServerID: "test", KMSv1: true}
	if config != "" {
		opts.File, opts.Reload = filepath.Join(w.dir, "config.yaml"), true
		w.configure(config)
	}
	if w.providers, err = New(opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.providers.Close)
	w.view = w.providers.View(w.raw, secrets)
	return w
}

// configure writes the file.
func (w *world) configure(config string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "config.yaml"), []byte(config), 0o600); err != nil {
		w.Fatal(err)
	}
}

// reconfigure writes the file and reloads it.
func (w *world) reconfigure(config string) {
	w.Helper()
	w.configure(config)
	if err := w.providers.reload(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(name, value string) int64 {
	w.Helper()
	revision, err := w.view.Create(w.Context(), prefix+name, []byte(value), 0)
	if err != nil {
		w.Fatal(err)
	}
	return revision
}

// get reads a value through the view.
func (w *world) get(name string) storage.KeyValue {
	w.Helper()
	kv, err := w.view.Get(w.Context(), prefix+name)
	if err != nil {
		w.Fatal(err)
	}
	return kv
}

// stored returns the value in etcd.
func (w *world) stored(name string) []byte {
	w.Helper()
	kv, err := w.raw.Get(w.Context(), prefix+name)
	if err != nil {
		w.Fatal(err)
	}
	return kv.Value
}

// wantStored checks the prefix of the value in etcd.
func (w *world) wantStored(name, begins string) {
	w.Helper()
	if got := w.stored(name); !bytes.HasPrefix(got, []byte(begins)) {
		w.Errorf("%s is stored as %.60q, want it to begin with %q", name, got, begins)
	}
}

// cache runs a multiplexer, and returns the cache of secrets.
func (w *world) cache() *cache.Cache {
	w.Helper()
	mux := cache.NewMultiplexer(w.raw, "/registry")
	c := mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix, Namespaced: true}, View: w.view})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = mux.Run(ctx) }()
	w.Cleanup(func() { cancel(); <-done })
	<-mux.Started()
	return c
}
