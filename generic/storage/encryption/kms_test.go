package encryption

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kmsapi "k8s.io/kms/apis/v2"

	"triplane.dev/generic/storage/encryption/kmstest"
)

func TestKMSCallsThePluginOncePerSeed(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmstest.Start(t, socket)
	config := file(entry("secrets", kmsProvider(socket)))
	w := newWorld(t, config)
	var last int64
	for range 20 {
		last = w.create("ns/"+strings.Repeat("a", int(last)+1), "1")
	}
	if e, d := plugin.Encrypts.Load(), plugin.Decrypts.Load(); e != 1 || d != 0 {
		t.Errorf("20 writes cost %d encryptions and %d decryptions, want 1 and 0", e, d)
	}
	// Another server calls the plugin once for the seed.
	later, err := New(Options{File: filepath.Join(w.dir, "config.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	view := later.View(w.raw, secrets)
	for range 5 {
		if kv, err := view.Get(t.Context(), prefix+"ns/a"); err != nil || string(kv.Value) != "1" {
			t.Fatalf("%s, %v", kv.Value, err)
		}
	}
	if d := plugin.Decrypts.Load(); d != 1 {
		t.Errorf("5 reads cost %d decryptions, want 1", d)
	}
	if checks := later.Checks(); len(checks) != 1 || checks[0].Name != "kms-providers" || checks[0].Check() != nil {
		t.Errorf("checks %v", checks)
	}
}

func TestKMSFollowsThePluginsKey(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmstest.Start(t, socket)
	w := newWorld(t, file(entry("secrets", kmsProvider(socket))))
	at := w.create("ns/a", "1")

	k := w.v2()
	now := time.Now()
	k.rules(t, w, now.Add(pollHealthy))
	if kv := w.get("ns/a"); kv.Stale {
		t.Error("stale although the plugin's key is the same")
	}
	plugin.ID.Store("kek-2")
	k.rules(t, w, now.Add(2*pollHealthy))
	if kv := w.get("ns/a"); !kv.Stale || string(kv.Value) != "1" {
		t.Errorf("%q, stale %v after the key changed", kv.Value, kv.Stale)
	}
	if _, err := w.view.Update(t.Context(), prefix+"ns/a", []byte("1"), at, 0); err != nil {
		t.Fatal(err)
	}
	if kv := w.get("ns/a"); kv.Stale {
		t.Error("stale although it was written with the new key")
	}
	if n := plugin.Encrypts.Load(); n != 2 {
		t.Errorf("%d seeds for 2 keys", n)
	}
}

// v2 returns the only plugin.
func (w *world) v2() *kms {
	w.Helper()
	k, ok := w.providers.current.Load().plugins[0].(*kms)
	if !ok {
		w.Fatal("it is another provider")
	}
	return k
}

// rules advances the provider's clock and polls the key.
func (k *kms) rules(t *testing.T, w *world, now time.Time) {
	t.Helper()
	k.calling <- struct{}{}
	k.now = func() time.Time { return now }
	<-k.calling
	if err := k.refresh(w.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestUnavailableKMS(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "kms.sock")
	w := newWorld(t, file(entry("secrets", `{kms: {apiVersion: v2, name: remote, timeout: 50ms, endpoint: "unix://`+socket+`"}}`)+
		entry("configmaps", withKeys("aesgcm", "a", secret32))))
	if _, err := w.view.Create(t.Context(), prefix+"ns/a", []byte("1"), 0); err == nil || !strings.Contains(err.Error(), "kms provider remote") {
		t.Errorf("a write without the plugin: %v", err)
	}
	checks := w.providers.Checks()
	if len(checks) != 1 || checks[0].Name != "kms-providers" || checks[0].Check() == nil {
		t.Errorf("checks %v pass without the plugin", checks)
	}
	plugin := kmstest.Start(t, socket)
	k := w.v2()
	for k.refresh(t.Context()) != nil {
		// Retries until the backoff of the connection has passed.
	}
	w.create("ns/a", "1")
	plugin.Sick.Store(true)
	k.mu.Lock()
	k.health.until = time.Time{}
	k.mu.Unlock()
	later := *k.writing.Load()
	later.expires = time.Now()
	k.writing.Store(&later)
	if err := checks[0].Check(); err == nil || !strings.Contains(err.Error(), "the HSM is on fire") {
		t.Errorf("the check of a sick plugin: %v", err)
	}
	if kv := w.get("ns/a"); string(kv.Value) != "1" {
		t.Error("what was opened before cannot be read without the plugin")
	}
	if _, err := w.view.Create(t.Context(), prefix+"ns/b", []byte("1"), 0); err == nil {
		t.Error("written with a key that the plugin has not confirmed for long")
	}
}

// Invalid responses of a plugin fail writes and the health check only. They are not stored, and values whose
// key is cached can be read.
func TestKMSInvalidResponses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmstest.Start(t, socket)
	w := newWorld(t, file(entry("secrets", kmsProvider(socket))))
	w.create("ns/before", "1")
	k := w.v2()
	good, long := []byte("sealed"), strings.Repeat("k", maxKeyID+1)
	tests := map[string]kmstest.Garbage{
		"empty keyID":                 {Status: &kmsapi.StatusResponse{Version: "v2", Healthz: "ok"}},
		"keyID of the status exceeds": {Status: &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: long}},
		"unsupported KMS API version": {Status: &kmsapi.StatusResponse{Version: "v1", Healthz: "ok", KeyId: "k"}},
		"unexpected healthz":          {Status: &kmsapi.StatusResponse{}},
		"keyID is empty":              {Encrypt: &kmsapi.EncryptResponse{Ciphertext: good}},
		"keyID is 1025 bytes":         {Encrypt: &kmsapi.EncryptResponse{Ciphertext: good, KeyId: long}},
		"source is empty":             {Encrypt: &kmsapi.EncryptResponse{KeyId: "k"}},
		"source is 1025 bytes":        {Encrypt: &kmsapi.EncryptResponse{Ciphertext: []byte(long), KeyId: "k"}},
		"annotations: Invalid":        {Encrypt: &kmsapi.EncryptResponse{Ciphertext: good, KeyId: "k", Annotations: map[string][]byte{"no domain": nil}}},
		"size of annotations":         {Encrypt: &kmsapi.EncryptResponse{Ciphertext: good, KeyId: "k", Annotations: map[string][]byte{"a.example.com": make([]byte, maxAnnotations)}}},
		"larger than max":             {Encrypt: &kmsapi.EncryptResponse{Ciphertext: make([]byte, 8<<20), KeyId: "k"}},
	}
	for want, garbage := range tests {
		plugin.ID.Store(want) // another key, for which the plugin is asked to encrypt
		plugin.Garbage.Store(&garbage)
		later := *k.writing.Load()
		later.expires = time.Now()
		k.writing.Store(&later)
		if _, err := w.view.Create(t.Context(), prefix+"ns/"+want, []byte("1"), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if kv := w.get("ns/before"); string(kv.Value) != "1" {
			t.Errorf("%s: what was opened before cannot be read", want)
		}
	}
	plugin.Garbage.Store(nil)
	w.create("ns/after", "1")
}

// Invalid seeds of any length are not cached: the plugin is called another time.
func TestKMSInvalidSeeds(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmstest.Start(t, socket)
	w := newWorld(t, file(entry("secrets", kmsProvider(socket))))
	w.create("ns/a", "1")
	for _, n := range []int{0, 1, seedSize - 1, seedSize, seedSize + 1, 1 << 20, 8 << 20} {
		plugin.Garbage.Store(&kmstest.Garbage{Decrypt: &kmsapi.DecryptResponse{Plaintext: make([]byte, n)}})
		later, err := New(Options{File: filepath.Join(w.dir, "config.yaml")})
		if err != nil {
			t.Fatal(err)
		}
		defer later.Close()
		view := later.View(w.raw, secrets)
		if kv, err := view.Get(t.Context(), prefix+"ns/a"); err == nil {
			t.Errorf("a seed of %d zeros opens %q", n, kv.Value)
		}
		plugin.Garbage.Store(nil)
		if kv, err := view.Get(t.Context(), prefix+"ns/a"); err != nil || string(kv.Value) != "1" {
			t.Errorf("after a seed of %d zeros: %v", n, err)
		}
	}
}

func TestMetricsAreBounded(t *testing.T) {
	m := newMetrics("server")
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Collectors()...)
	for i := range 100 {
		m.keyUsed(toStorage, "a", strings.Repeat("k", i+1))
		m.keyStatus("a", strings.Repeat("k", i+1), nil)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := len(f.Metric); n > maxKeyIDs {
			t.Errorf("%s has %d series", f.GetName(), n)
		}
	}
}
