package embedded

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/storage/embedded/database"
)

// A flipped bit in a value is detected by comparison with a snapshot, or by the decoder. Undamaged stores are
// equal to their snapshots.
func TestVerify(t *testing.T) {
	dir, snapshots := filepath.Join(t.TempDir(), "etcd"), t.TempDir()
	s := start(t, dir)
	revision, err := s.Backend().Create(t.Context(), "/a", []byte("stored"), time.Hour)
	if err == nil {
		_, err = s.Backend().Create(t.Context(), "/b", []byte("deleted"), 0)
	}
	if err == nil {
		_, err = s.Backend().Delete(t.Context(), "/b", revision+1)
	}
	if err == nil {
		err = s.Snapshot(filepath.Join(snapshots, "one.db"))
	}
	if err == nil {
		_, err = s.Backend().Create(t.Context(), "/c", []byte("later"), 0)
	}
	if err == nil {
		err = s.Backend().Compact(t.Context(), revision+2)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	v := Verification{Snapshots: snapshots, Value: func(_ string, value []byte) error {
		if bytes.Contains(value, []byte("Later")) {
			return errors.New("it cannot be decoded")
		}
		return nil
	}}
	held, err := Verify(dir, v)
	if err != nil || held.Keys != 2 || len(held.Compared) != 1 || held.Compacted != revision+2 {
		t.Fatalf("%+v, %v", held, err)
	}
	if status, err := InspectSnapshot(held.Compared[0]); err != nil || status.Keyspace == held.Hash || len(status.Keyspace) != 64 {
		t.Errorf("%+v, %v", status, err)
	}
	damagedSnapshot(t, dir, v)
	good, err := os.ReadFile(database.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"stored": "stoned", "later": "Later"} {
		if err := os.WriteFile(database.Path(dir), bytes.ReplaceAll(good, []byte(from), []byte(to)), 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"stored": "/a at revision 2 differs from ", "later": "/c at revision 5: it cannot be decoded"}[from]
		_, err := Verify(dir, v)
		if damaged := (*database.DamagedError)(nil); !errors.As(err, &damaged) || len(damaged.Problems) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if s, err := Start(t.Context(), Config{Dir: dir, Verify: &v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it starts: %v, %v", s, err)
		}
	}
}

// damagedSnapshot flips a bit in a copy of the snapshot, which changes its checksum. The store itself is valid
// and starts.
func damagedSnapshot(t *testing.T, dir string, v Verification) {
	t.Helper()
	good, err := os.ReadFile(filepath.Join(v.Snapshots, "one.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(v.Snapshots, "two.db")
	if err := os.WriteFile(path, bytes.ReplaceAll(good, []byte("stored"), []byte("stoned")), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, err := InspectSnapshot(path); err == nil || !strings.Contains(err.Error(), "its checksum is wrong") {
		t.Errorf("%+v, %v", status, err)
	}
	held, err := Verify(dir, v)
	if err != nil || len(held.Compared) != 1 || len(held.Unusable) != 1 || !strings.Contains(held.Unusable[0].Error(), path+" is damaged: its checksum is wrong") {
		t.Errorf("%+v, %v", held, err)
	}
	s, err := Start(t.Context(), Config{Dir: dir, Verify: &v})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
}

// A killed restore can be repeated; a start before that is an error. A restore to an existing store is
// rejected.
func TestInterruptedRestore(t *testing.T) {
	s := start(t, t.TempDir())
	if _, err := s.Backend().Create(t.Context(), "/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	path, dir := filepath.Join(t.TempDir(), "snapshot.db"), filepath.Join(t.TempDir(), "etcd")
	if err := s.Snapshot(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(restoring(dir), "member", "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := Start(t.Context(), Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "restore it again") {
		t.Errorf("it starts: %v, %v", s, err)
	}
	if err := Restore(path, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(restoring(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
	if err := Restore(path, dir); err == nil || !strings.Contains(err.Error(), "already contains a store") {
		t.Errorf("restored over a store: %v", err)
	}
	if _, err := Verify(dir, Verification{}); err != nil {
		t.Error(err)
	}
	if _, err := start(t, dir).Backend().Get(t.Context(), "/a"); err != nil {
		t.Error(err)
	}
}
