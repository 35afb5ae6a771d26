package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// startOnce starts a server on a directory and returns a value in the store.
func startOnce(t *testing.T, dir string) (value string) {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if kv, err := s.Backend().Get(t.Context(), "/a"); err == nil {
		return string(kv.Value)
	}
	if _, err := s.Backend().Create(t.Context(), "/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	return ""
}

// A process was killed after it had created the file of the log, and perhaps that of the database.
func TestIncompleteFirstStart(t *testing.T) {
	for _, database := range []bool{false, true} {
		dir := t.TempDir()
		if database {
			path := filepath.Join(dir, "member", "snap", "db")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := wal.Create(zap.NewNop(), filepath.Join(dir, "member", "wal"), []byte("metadata"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := startOnce(t, dir); got != "" {
			t.Errorf("a store that was never begun holds %q", got)
		}
		if got := startOnce(t, dir); got != "1" {
			t.Errorf("the recreated store has %q", got)
		}
	}
}

// An empty database is rebuilt from the log if that is complete.
func TestRebuildsAnEmptyDatabase(t *testing.T) {
	dir := t.TempDir()
	startOnce(t, dir)
	if err := os.Truncate(filepath.Join(dir, "member", "snap", "db"), 0); err != nil {
		t.Fatal(err)
	}
	if got := startOnce(t, dir); got != "1" {
		t.Errorf("after the database was lost the store holds %q", got)
	}
}

// The memory of the process does not grow with the bytes that were written.
func TestMemoryIsBoundedByBytes(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := make([]byte, 600_000)
	revision, err := s.Backend().Create(t.Context(), "/large", value, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		copy(value, fmt.Sprint(i))
		if revision, err = s.Backend().Update(t.Context(), "/large", value, revision, 0); err != nil {
			t.Fatal(err)
		}
	}
	limit := uint64(200 * len(value))
	if used := heap(); used > limit {
		t.Errorf("%d MB are in use after 400 writes of 600 KB, want at most %d", used>>20, limit>>20)
	}
	// It does not grow with the bytes that a start replays either.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir)
	for deadline := time.Now().Add(30 * time.Second); heap() > limit; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d MB are in use after a start, want at most %d", heap()>>20, limit>>20)
		}
	}
	runtime.KeepAlive(again)
}

// heap returns the used bytes of the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
