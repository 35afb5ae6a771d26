package encryption

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/encryption/kmstest"
)

const goldenValue = `{"kind":"Secret"} hidden`

// golden has the encoding of goldenValue in kube-apiserver's formats under /registry/secrets/default/golden. It
// was made with Python's cryptography package: key and seed are the bytes 0 to 31, nonces and vectors count up.
var golden = map[string]string{
	"aesgcm": "6b38733a656e633a61657367636d3a76313a6b6579313a6465666768696a6b6c6d6e6f3339b50f178d74a41c313a8ba8001edf3fe26e63ef08961c13b9d1e4ee29291f9af731c6c949508d",
	"aescbc": "6b38733a656e633a6165736362633a76313a6b6579313a32333435363738393a3b3c3d3e3f4041fe278d2125d1dc5fa65eaa846976314bca3a295b1d60cfd5321fa9c00c90724c",
	"kms, derived": "6b38733a656e633a6b6d733a76323a72656d6f74653a0a54c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e76465666768696a6b6c6d6e6f58d2a087ea7a0b714eca" +
		"1496fd9c3ce2b403a38ab38ddcab12c3af3e22a88c7d402be2e21a1350d812056b656b2d311a205a5b58595e5f5c5d52535051565754554a4b48494e4f4c4d424340414647444522210a1c766572" +
		"73696f6e2e656e6372797074696f6e2e72656d6f74652e696f1201312801",
	"kms, key": "6b38733a656e633a6b6d733a76323a72656d6f74653a0a346465666768696a6b6c6d6e6f3339b50f178d74a41c313a8ba8001edf3fe26e63ef08961c13b9d1e4ee29291f9af731c6c949508d12" +
		"056b656b2d311a205a5b58595e5f5c5d52535051565754554a4b48494e4f4c4d424340414647444522210a1c76657273696f6e2e656e6372797074696f6e2e72656d6f74652e696f120131",
	"identity": "7b226b696e64223a22536563726574227d2068696464656e",
}

func kmsProvider(socket string) string {
	return `{kms: {apiVersion: v2, name: remote, endpoint: "unix://` + socket + `"}}`
}

func TestReadsValuesOfKubeAPIServer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	kmstest.Start(t, socket)
	w := newWorld(t, file(entry("secrets", strings.Join([]string{
		withKeys("aesgcm", "key1", secret32), withKeys("aescbc", "key1", secret32), kmsProvider(socket), "{identity: {}}"}, ", "))))
	at := int64(0)
	for name, stored := range golden {
		var err error
		if at == 0 {
			at, err = w.raw.Create(t.Context(), prefix+"default/golden", unhex(t, stored), 0)
		} else {
			at, err = w.raw.Update(t.Context(), prefix+"default/golden", unhex(t, stored), at, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if kv := w.get("default/golden"); string(kv.Value) != goldenValue || kv.Stale != (name != "aesgcm") {
			t.Errorf("%s: read %q, stale %v", name, kv.Value, kv.Stale)
		}
	}
}

// Reads return what was written with every provider. No part of it is on disk, except with the identity
// provider.
func TestNoPlaintextOnDisk(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	kmstest.Start(t, socket)
	for begins, provider := range map[string]string{
		"k8s:enc:aesgcm:v1:key1:":    withKeys("aesgcm", "key1", secret16),
		"k8s:enc:aescbc:v1:key1:":    withKeys("aescbc", "key1", secret32),
		"k8s:enc:secretbox:v1:key1:": withKeys("secretbox", "key1", secret32),
		"k8s:enc:kms:v2:remote:":     kmsProvider(socket),
		"the treasure":               "{identity: {}}",
	} {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, file(entry("secrets", provider)))
			created := w.create("a/b", "the treasure is below the palm")
			if kv := w.get("a/b"); string(kv.Value) != "the treasure is below the palm" || kv.Stale {
				t.Errorf("read %q, stale %v", kv.Value, kv.Stale)
			}
			w.wantStored("a/b", begins)
			if _, err := w.view.Update(t.Context(), prefix+"a/b", []byte("the treasure is gone"), created, 0); err != nil {
				t.Fatal(err)
			}
			r, err := w.view.Range(t.Context(), storage.RangeOptions{Prefix: prefix})
			if err != nil || len(r.Items) != 1 || string(r.Items[0].Value) != "the treasure is gone" {
				t.Errorf("listed %v, %v", r.Items, err)
			}
			var conflict *storage.ConflictError
			if _, err := w.view.Delete(t.Context(), prefix+"a/b", created); !errors.As(err, &conflict) || string(conflict.Current.Value) != "the treasure is gone" {
				t.Errorf("a conflict is reported as %v", err)
			}
			w.etcd.Close()
			if found := onDisk(t, w.dir, "treasure"); found != (begins == "the treasure") {
				t.Errorf("in plain text on the disk: %v", found)
			}
		})
	}
}

// onDisk reports whether any file below a directory contains a text.
func onDisk(t *testing.T, dir, text string) bool {
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestKeysAreRotatedWhileServing(t *testing.T) {
	old, both := withKeys("aesgcm", "old", secret32), withKeys("aesgcm", "new", secret16, "old", secret32)
	w := newWorld(t, file(entry("secrets", old)))
	c := w.cache()
	at := w.create("ns/a", "1")
	w.create("ns/b", "1")
	watch, err := c.Watch(t.Context(), storage.WatchOptions{Revision: at})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	w.reconfigure(file(entry("secrets", both)))
	if kv := w.get("ns/a"); !kv.Stale {
		t.Error("what the old key wrote is not stale")
	}
	if _, err := w.view.Update(t.Context(), prefix+"ns/a", []byte("1"), at, 0); err != nil {
		t.Fatal(err)
	}
	w.wantStored("ns/a", "k8s:enc:aesgcm:v1:new:")
	if kv := w.get("ns/a"); kv.Stale {
		t.Error("what was rewritten is still stale")
	}
	for seen := 0; seen < 2; {
		events, err := watch.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if seen++; string(e.Record.Value()) != "1" {
				t.Errorf("a watch received %q", e.Record.Value())
			}
		}
	}
	w.wantStored("ns/b", "k8s:enc:aesgcm:v1:old:")
	w.providers.sweep(w.providers.retired[0].at.Add(1))
	if len(w.providers.retired) != 0 {
		t.Error("the replaced configuration was not closed")
	}
}

// unread lists and returns the error of the first record without a value.
func unread(t *testing.T, c storage.Cache, opts storage.ListOptions) error {
	t.Helper()
	l, err := c.List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Records {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// An undecryptable object fails lists but not reads of other objects. Lists succeed when it can be decrypted.
func TestUnreadableObjects(t *testing.T) {
	one, other := withKeys("aesgcm", "one", secret32), withKeys("aesgcm", "other", secret16)
	w := newWorld(t, file(entry("secrets", one+", "+other)))
	c := w.cache()
	w.create("ns/a", "1")
	if l, err := c.List(t.Context(), storage.ListOptions{}); err != nil || len(l.Records) != 1 {
		t.Fatalf("listed %v, %v", l, err)
	}
	// Another replica writes with a key that this one does not have.
	w.reconfigure(file(entry("secrets", other)))
	w.create("ns/b", "2")
	w.reconfigure(file(entry("secrets", one)))
	w.create("ns/c", "3")

	want := `unable to transform key "/registry/secrets/ns/b": no matching key was found for the provided AES transformer`
	fresh, err := w.raw.Create(t.Context(), "/registry/others/x", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unread(t, c, storage.ListOptions{Freshness: storage.Freshness{Match: storage.NotOlderThan, Revision: fresh}}); err != nil && err.Error() != want {
		t.Errorf("the list has %v", err)
	}
	c2 := w.cache() // one that begins now
	if err := unread(t, c2, storage.ListOptions{}); err == nil || err.Error() != want || !errors.As(err, new(*storage.TransformError)) {
		t.Errorf("the list of a new cache: %v", err)
	}
	if err := unread(t, c2, storage.ListOptions{Prefix: prefix + "other/"}); err != nil {
		t.Errorf("the list of another namespace: %v", err)
	}
	if r, err := c2.Get(t.Context(), prefix+"ns/c", storage.Freshness{}); err != nil || string(r.Value()) != "3" {
		t.Errorf("an object that can be read: %v, %v", r, err)
	}
	if _, err := c2.Get(t.Context(), prefix+"ns/b", storage.Freshness{}); err == nil || err.Error() != want {
		t.Errorf("the object that cannot be read: %v", err)
	}
	w.reconfigure(file(entry("secrets", one+", "+other)))
	for _, c := range []storage.Cache{c, c2} {
		l, err := c.List(t.Context(), storage.ListOptions{})
		if err != nil || len(l.Records) != 3 || string(l.Records[1].Value()) != "2" {
			t.Errorf("listed %v, %v", l.Records, err)
		}
	}
}

// A change that cannot be decrypted ends the watches of its resource only.
func TestUnreadableChangesEndWatches(t *testing.T) {
	w := newWorld(t, file(entry("secrets", withKeys("aesgcm", "one", secret32))))
	c := w.cache()
	at := w.create("ns/a", "1")
	if _, err := c.List(t.Context(), storage.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	watch, err := c.Watch(t.Context(), storage.WatchOptions{Revision: at})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	bad, err := w.raw.Create(t.Context(), prefix+"ns/b", []byte("k8s:enc:aesgcm:v1:one:nonsense that is long enough"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if events, err := watch.Next(t.Context()); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch received %v, %v", events, err)
	}
	if err := unread(t, c, storage.ListOptions{}); !errors.As(err, new(*storage.TransformError)) {
		t.Errorf("the list: %v", err)
	}
	if _, err := w.raw.Delete(t.Context(), prefix+"ns/b", bad); err != nil {
		t.Fatal(err)
	}
	for {
		l, err := c.List(t.Context(), storage.ListOptions{})
		if err == nil && len(l.Records) == 1 {
			break
		}
		if err != nil && !errors.As(err, new(*storage.TransformError)) {
			t.Fatal(err)
		}
	}
}

// Without a configuration values are not changed, and encrypted values are rejected.
func TestNoConfiguration(t *testing.T) {
	w := newWorld(t, "")
	w.create("ns/a", "1")
	w.wantStored("ns/a", "1")
	if kv := w.get("ns/a"); kv.Stale {
		t.Error("a plain value is stale")
	}
	if _, err := w.raw.Create(t.Context(), prefix+"ns/b", unhex(t, golden["aesgcm"]), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.view.Get(t.Context(), prefix+"ns/b"); err == nil || !strings.HasSuffix(err.Error(), "identity transformer tried to read encrypted data") {
		t.Errorf("an encrypted value: %v", err)
	}
	value := []byte("as it is")
	if n := testing.AllocsPerRun(100, func() {
		_, _ = w.view.seal(context.Background(), "/a", value)
		_, _, _ = w.view.open(context.Background(), "/a", value)
	}); n != 0 {
		t.Errorf("%v allocations for a value that is stored as it is", n)
	}
}

func TestReload(t *testing.T) {
	w := newWorld(t, file(entry("secrets", "{identity: {}}")))
	w.providers.every = 1e6
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.providers.Run(ctx) }()
	defer func() { cancel(); <-done }()

	before := w.providers.current.Load()
	w.configure("nonsense")
	w.configure(file(entry("secrets", withKeys("secretbox", "key1", secret32))))
	for w.providers.current.Load() == before {
		_ = w.providers.reload(ctx)
	}
	w.create("ns/a", "1")
	w.wantStored("ns/a", "k8s:enc:secretbox:v1:key1:")

	cancel()
	<-done
	after := w.providers.current.Load()
	w.configure(file(entry("secrets", withKeys("secretbox", "key1", secret16))))
	if err := w.providers.reload(t.Context()); err == nil || w.providers.current.Load() != after {
		t.Errorf("a file with a short key was taken: %v", err)
	}
	socket := filepath.Join(w.dir, "nobody.sock")
	w.configure(file(entry("secrets", `{kms: {apiVersion: v2, name: remote, timeout: 50ms, endpoint: "unix://`+socket+`"}}`)))
	if err := w.providers.reload(t.Context()); err == nil || w.providers.current.Load() != after {
		t.Errorf("a file whose plugin is away was taken: %v", err)
	}
	kmstest.Start(t, socket)
	if err := w.providers.reload(t.Context()); err != nil {
		t.Errorf("the plugin has come up: %v", err)
	}
}
