package encryption

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kmsapi "k8s.io/kms/apis/v2"

	"triplane/generic/storage"
	"triplane/generic/storage/cache"
	"triplane/generic/storage/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secrets = schema.GroupResource{Resource: "secrets"}

const prefix = "/registry/secrets/"

// world is an etcd, and providers with a file that a test may write again.
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
	opts := Options{ServerID: "test"}
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

// reconfigure writes the file and has it used.
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

// get returns what the view reads.
func (w *world) get(name string) storage.KeyValue {
	w.Helper()
	kv, err := w.view.Get(w.Context(), prefix+name)
	if err != nil {
		w.Fatal(err)
	}
	return kv
}

// stored returns what etcd holds.
func (w *world) stored(name string) []byte {
	w.Helper()
	kv, err := w.raw.Get(w.Context(), prefix+name)
	if err != nil {
		w.Fatal(err)
	}
	return kv.Value
}

// wantStored checks how a value is stored.
func (w *world) wantStored(name, begins string) {
	w.Helper()
	if got := w.stored(name); !bytes.HasPrefix(got, []byte(begins)) {
		w.Errorf("%s is stored as %.60q, want it to begin with %q", name, got, begins)
	}
}

// cache runs a hub, and returns the cache of secrets.
func (w *world) cache() *cache.Cache {
	w.Helper()
	hub := cache.NewHub(w.raw, "/registry")
	c := hub.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix, Namespaced: true}, View: w.view})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = hub.Run(ctx) }()
	w.Cleanup(func() { cancel(); <-done })
	<-hub.Started()
	return c
}

// key is a plugin that "encrypts" by adding 0x5a.
type key struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	id       atomic.Value
	sick     atomic.Bool
	encrypts atomic.Int32
	decrypts atomic.Int32
}

const annotation = "version.encryption.remote.io"

func startPlugin(t testing.TB, socket string) *key {
	t.Helper()
	k := &key{}
	k.id.Store("kek-1")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	kmsapi.RegisterKeyManagementServiceServer(s, k)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return k
}

func scramble(in []byte) []byte {
	out := bytes.Clone(in)
	for i := range out {
		out[i] ^= 0x5a
	}
	return out
}

func (k *key) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	s := &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: k.id.Load().(string)}
	if k.sick.Load() {
		s.Healthz = "the HSM is on fire"
	}
	return s, nil
}

func (k *key) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	k.encrypts.Add(1)
	return &kmsapi.EncryptResponse{Ciphertext: scramble(r.Plaintext), KeyId: k.id.Load().(string), Annotations: map[string][]byte{annotation: []byte("1")}}, nil
}

func (k *key) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	k.decrypts.Add(1)
	if string(r.Annotations[annotation]) != "1" || r.Uid == "" {
		return nil, errors.New("annotations or uid are missing")
	}
	return &kmsapi.DecryptResponse{Plaintext: scramble(r.Ciphertext)}, nil
}
