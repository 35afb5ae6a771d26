package etcd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/etcd"
)

// forward forwards a Unix socket to an etcd until away is called.
func forward(t *testing.T, socket, endpoint string) (away func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			running.Go(func() { io.Copy(out, in); out.Close() })
			running.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	return func() { l.Close(); cancel(); running.Wait() }
}

// While an etcd on a Unix socket is unavailable, calls fail with ErrUnavailable. They succeed soon after it is
// available.
func TestUnavailableEtcd(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "etcd.sock")
	endpoint := listen(t)
	away := forward(t, socket, endpoint)
	b, err := etcd.Dial(t.Context(), etcd.Config{Endpoints: []string{"unix://" + socket}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Create(t.Context(), "/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	away()
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := b.Create(ctx, "/b", []byte("1"), 0)
		cancel()
		if !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a write while etcd is away: %v", err)
		}
	}
	away = forward(t, socket, endpoint)
	defer away()
	began := time.Now()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := b.Get(ctx, "/a")
		cancel()
		if err == nil {
			break
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("etcd was noticed %v after it was back", took)
	}
}
