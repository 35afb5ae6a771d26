package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/generic/storage"
)

// A restored store has the content of the snapshot at revisions that no client has seen.
func TestSnapshotIsRestored(t *testing.T) {
	s := start(t, t.TempDir())
	revision, err := s.Backend().Create(t.Context(), "/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := s.Snapshot(path); err != nil {
		t.Fatal(err)
	}
	later, err := s.Backend().Update(t.Context(), "/a", []byte("2"), revision, 0)
	if err != nil {
		t.Fatal(err)
	}
	status, err := InspectSnapshot(path)
	if err != nil || status.Revision != revision {
		t.Errorf("%+v, %v; want revision %d", status, err, revision)
	}
	dir := filepath.Join(t.TempDir(), "etcd")
	if err := Restore(path, dir); err != nil {
		t.Fatal(err)
	}
	if err := Restore(path, dir); err == nil {
		t.Error("a store was restored over another one")
	}
	restored := start(t, dir)
	kv, err := restored.Backend().Get(t.Context(), "/a")
	if err != nil || string(kv.Value) != "1" {
		t.Fatalf("restored %q, %v", kv.Value, err)
	}
	if now, _ := restored.Backend().Revision(t.Context()); now <= later {
		t.Errorf("the restored store is at %d, and had been at %d", now, later)
	}
	stream, err := restored.Backend().Watch(t.Context(), "/", later, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, _, err := stream.Next(t.Context()); !errors.Is(err, storage.ErrCompacted) {
		t.Errorf("a watch goes on from a revision of before: %v", err)
	}
	if _, err := restored.Backend().Update(t.Context(), "/a", []byte("3"), kv.Revision, 0); err != nil {
		t.Error(err)
	}
}

func TestDamagedSnapshots(t *testing.T) {
	s := start(t, t.TempDir())
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := s.Snapshot(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	for want, content := range map[string][]byte{"is damaged": flipped, "not a complete snapshot": whole[:len(whole)-1], "is not a complete": nil} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := InspectSnapshot(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := Restore(path, filepath.Join(t.TempDir(), "etcd")); err == nil {
			t.Errorf("restored what %s", want)
		}
	}
}
