package pki

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShared copies the shared files of a cluster to a second directory, but not to one with other keys.
func TestShared(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := EnsureShared(first); err != nil {
		t.Fatal(err)
	}
	files, err := ReadShared(first)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // an attempt may be interrupted
		if err := WriteShared(second, files); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{first, second} {
		if _, err := Ensure(dir, Config{FrontProxy: "front"}); err != nil {
			t.Fatal(err)
		}
		if _, err := EnsurePeer(filepath.Join(dir, "etcd"), Config{Names: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadShared(dir); err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
			t.Errorf("the files of %s are others: %v", dir, err)
		}
	}
	if info, err := os.Stat(filepath.Join(second, "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a key has mode %v, %v", info, err)
	}
	mounted := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(mounted, SecretKey(name)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := ReadShared(mounted); err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("the files of a mounted Secret are others: %v", err)
	}
	other := t.TempDir()
	if err := EnsureShared(other); err != nil {
		t.Fatal(err)
	}
	if err := WriteShared(other, files); err == nil || !strings.Contains(err.Error(), "differs from the cluster") {
		t.Errorf("keys are replaced: %v", err)
	}
	delete(files, "sa.key")
	if err := WriteShared(t.TempDir(), files); err == nil {
		t.Error("a key is missing")
	}
}
