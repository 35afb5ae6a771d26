package encryption

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/generic/storage/encryption/kmstest"
)

// storedByV1 is the stored value of the Secret default/a by kube-apiserver v1.36. The plugin prefixes plaintext
// with "E:".
const storedByV1 = "azhzOmVuYzprbXM6djE6azoAIkU6Tkka4Vn1FkIlFtGLk+1stCuVny5Q2v6q9DB1jsXGZ5sgoAxPpeE0PzFzf2SUxkRcbjCTEp5C6fJsjwxaFGXEJdnpfAMQtk7SiDUqtLvyuvtX+fGY4htJy2kgsSRk2jQWcVjuA9833fCKkgM2a1imVmcoux65yUgQGD6RX9HrJ/P8VCZWs3aqJ4EabZ6IvvjiQHi0OaR2hud9Kmiak8JrPrRecIdNr2U7dkVXP4OUCENdptfR3lY5SL65IL0wP6bnnQvYoZA3JZVpCGJt0/6cSd7HDNcHTNw8zK6ym/sRSwI="

func v1Provider(socket, more string) string {
	return "{kms: {name: k, apiVersion: v1, endpoint: 'unix://" + socket + "'" + more + "}}"
}

func TestKMSv1(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmstest.StartV1(t, socket)
	w := newWorld(t, file(entry("secrets", v1Provider(socket, ""))))
	for _, name := range []string{"ns/a", "ns/b"} {
		w.create(name, "value")
		raw, err := w.raw.Get(t.Context(), prefix+name)
		if err != nil || !bytes.HasPrefix(raw.Value, []byte("k8s:enc:kms:v1:k:\x00\x22E:")) {
			t.Errorf("%s is stored as %q, %v", name, raw.Value, err)
		}
		if kv := w.get(name); string(kv.Value) != "value" || kv.Stale {
			t.Errorf("%s is read as %q, stale %v", name, kv.Value, kv.Stale)
		}
	}
	if e, d := plugin.Encrypts.Load(), plugin.Decrypts.Load(); e != 2 || d != 0 {
		t.Errorf("two values cost %d encryptions and %d decryptions, want 2 and 0", e, d)
	}

	stored, err := base64.StdEncoding.DecodeString(storedByV1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.raw.Create(t.Context(), prefix+"default/a", stored, 0); err != nil {
		t.Fatal(err)
	}
	plugin.Wrong.Store(true)
	if _, err := w.view.Get(t.Context(), prefix+"default/a"); err == nil {
		t.Error("a value was read with another key")
	}
	plugin.Wrong.Store(false) // what it answered is not kept
	if kv := w.get("default/a"); !bytes.HasPrefix(kv.Value, []byte("k8s\x00")) || kv.Stale {
		t.Errorf("what kube-apiserver stored is read as %q", kv.Value)
	}

	if check := w.providers.Checks()[0]; check.Name != "kms-providers" || check.Check() != nil {
		t.Errorf("%s: %v", check.Name, check.Check())
	}
	plugin.Sick.Store(true)
	if _, err := w.view.Create(t.Context(), prefix+"ns/c", []byte("1"), 0); err == nil || !strings.Contains(err.Error(), "failed to encrypt DEK") {
		t.Errorf("a write without the plugin: %v", err)
	}
}

// Values with AES-CBC of former releases can be read, and are rewritten on updates.
func TestKMSv1ReadsCBC(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kms.sock")
	kmstest.StartV1(t, socket)
	w := newWorld(t, file(entry("secrets", v1Provider(socket, ", cachesize: -1"))))
	key := bytes.Repeat([]byte{7}, dataKeySize)
	c, err := newCBC(key)
	if err != nil {
		t.Fatal(err)
	}
	stored := binary.BigEndian.AppendUint16([]byte("k8s:enc:kms:v1:k:"), dataKeySize+2)
	stored, err = c.seal(append(append(stored, "E:"...), key...), []byte("value"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.raw.Create(t.Context(), prefix+"ns/a", stored, 0); err != nil {
		t.Fatal(err)
	}
	if kv := w.get("ns/a"); string(kv.Value) != "value" || !kv.Stale {
		t.Errorf("it is read as %q, stale %v", kv.Value, kv.Stale)
	}
	k, ok := w.providers.current.Load().plugins[0].(*kmsV1)
	if !ok {
		t.Fatal("it is another provider")
	}
	for i := range stored {
		_, _, _ = k.open(t.Context(), stored[min(i, len("k8s:enc:kms:v1:k:")):i], "") // whatever is stored, nothing panics
	}
}

func TestKMSv1NeedsItsGate(t *testing.T) {
	w := newWorld(t, "")
	w.configure(file(entry("secrets", v1Provider("/nowhere", ""))))
	_, err := New(Options{File: filepath.Join(w.dir, "config.yaml")})
	if err == nil || !strings.HasSuffix(err.Error(), "Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.") {
		t.Errorf("%v", err)
	}
}
