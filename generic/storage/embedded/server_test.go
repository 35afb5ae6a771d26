package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func start(t testing.TB, dir string) *Server {
	t.Helper()
	began := time.Now()
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(began))
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	rev, err := s.Backend().Create(t.Context(), "/registry/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	kv, err := s.Backend().Get(t.Context(), "/registry/a")
	if err != nil || string(kv.Value) != "1" || kv.Revision != rev {
		t.Fatalf("got %+v, %v; want value 1 at %d", kv, err, rev)
	}
	if now, _ := s.Backend().Revision(t.Context()); now != rev {
		t.Errorf("revision after restart is %d, want %d", now, rev)
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	began := time.Now()
	_, err := Start(context.Background(), Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("got %v, want an error that says the directory is in use", err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("it took %v to say so", d)
	}
}

func TestTwoSideBySide(t *testing.T) {
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	if _, err := a.Backend().Create(t.Context(), "/x", []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Backend().Create(t.Context(), "/x", []byte("b"), 0); err != nil {
		t.Fatalf("the second server saw the first one's key: %v", err)
	}
}
