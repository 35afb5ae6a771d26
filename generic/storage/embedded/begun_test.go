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

// startOnce starts on a directory, and says what of the store is there.
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

// A process was killed when it had made the log's file, and perhaps the
// database's, and nothing else.
func TestBeginsAnewWhatWasNeverBegun(t *testing.T) {
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
			t.Errorf("the store that was begun anew holds %q", got)
		}
	}
}

// The database is rebuilt from the log while the log has all of it.
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

// What the process keeps of the bytes that were written does not grow with them.
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
	// Nor do those that a start reads of the log.
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

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
