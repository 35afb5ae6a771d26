package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"triplane.dev/generic/storage"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(dir)
	}
	if dir := os.Getenv(damagedDir); dir != "" {
		useDamaged(dir)
	}
	goleak.VerifyTestMain(m)
}

// crashDir is the variable with the data directory for a process that will be killed.
const crashDir = "TRIPLANE_TEST_CRASH_DIR"

// writeUntilKilled writes keys and prints each acknowledged one.
func writeUntilKilled(dir string) {
	s, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if _, err := s.Backend().Create(context.Background(), fmt.Sprintf("/r/%06d", i), []byte("x"), 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(out); lines.Scan(); acknowledged++ {
		if lines.Text() != fmt.Sprint(acknowledged) {
			t.Fatalf("the process prints %q", lines.Text())
		}
		if acknowledged == 500 {
			cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // it was killed
	if acknowledged < 500 {
		t.Fatalf("only %d writes were acknowledged", acknowledged)
	}
	got, err := start(t, dir).Backend().Range(t.Context(), storage.RangeOptions{Prefix: "/r/", CountOnly: true})
	if err != nil || got.Count < int64(acknowledged) {
		t.Errorf("%d keys are left of %d, %v", got.Count, acknowledged, err)
	}
}

func TestUseAfterClose(t *testing.T) {
	s := start(t, t.TempDir())
	b := s.Backend()
	stream, err := b.Watch(t.Context(), "/", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	s.Close()
	s.Close()
	for name, call := range map[string]func() error{
		"get":    func() error { _, err := b.Get(t.Context(), "/a"); return err },
		"create": func() error { _, err := b.Create(t.Context(), "/a", nil, 0); return err },
		"watch":  func() error { _, err := b.Watch(t.Context(), "/", 0, nil); return err },
		"next":   func() error { _, _, err := stream.Next(t.Context()); return err },
		"size":   func() error { _, err := b.DatabaseSize(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, storage.ErrStopped) {
			t.Errorf("%s: %v, want ErrStopped", name, err)
		}
	}
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
		t.Fatalf("got %v, want the error that the directory is in use", err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("it took %v to say so", d)
	}
}

func TestUnusableDirectories(t *testing.T) {
	path := func(dir string) string { return filepath.Join(dir, "member", "snap", "db") }
	for _, test := range []struct {
		name, want string
		prepare    func(t *testing.T, dir string)
	}{
		{"a damaged database", "cannot be opened", func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Dir(path(dir)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path(dir), make([]byte, 1<<16), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a database that an etcd has open", "in use by another process", func(t *testing.T, dir string) {
			start(t, dir).Close()
			db, err := bolt.Open(path(dir), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
		}},
		{"a file", "not a directory", func(t *testing.T, dir string) {
			os.Remove(dir)
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "etcd")
			test.prepare(t, dir)
			_, err := Start(t.Context(), Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestTwoServers(t *testing.T) {
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	if _, err := a.Backend().Create(t.Context(), "/x", []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Backend().Create(t.Context(), "/x", []byte("b"), 0); err != nil {
		t.Fatalf("the second server saw the first one's key: %v", err)
	}
}
