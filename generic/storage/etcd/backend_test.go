//go:build unix

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/etcd"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/postgres"
	"triplane.dev/generic/storage/postgres/postgrestest"
	"triplane.dev/internal/worker"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if server, err := database(); err == nil {
			_ = server.Close()
		}
		os.Exit(code)
	}))
}

// listen starts an etcd with a listener and returns its endpoint.
func listen(t testing.TB) string {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	any := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{any}, []url.URL{any}
	cfg.ListenPeerUrls = nil
	cfg.TickMs, cfg.ElectionMs = 10, 50
	cfg.LogLevel = "error"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return "http://" + e.Clients[0].Addr().String()
}

func dial(t testing.TB) storage.Backend {
	t.Helper()
	b, err := etcd.Dial(context.Background(), etcd.Config{Endpoints: []string{listen(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func inProcess(t testing.TB) storage.Backend {
	t.Helper()
	s, err := embedded.Start(context.Background(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Backend()
}

func inMemory(t testing.TB) storage.Backend {
	t.Helper()
	b := memory.New()
	ctx, cancel := context.WithCancel(context.Background())
	var running worker.Group
	running.Go(func() { b.RunCompactor(ctx, 0) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		b.Close()
	})
	return b
}

// database is the PostgreSQL server of all tests.
var database = sync.OnceValues(func() (*postgrestest.Server, error) { return postgrestest.New("fsync=off") })

func inPostgres(t testing.TB) storage.Backend {
	t.Helper()
	server, err := database()
	postgrestest.Need(t, err)
	url, err := server.Database()
	if err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(context.Background(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running worker.Group
	running.Go(func() { b.RunCompactor(ctx, 0) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		b.Close()
	})
	return b
}

var backends = map[string]func(testing.TB) storage.Backend{"client": dial, "embedded": inProcess, "memory": inMemory,
	"postgres": inPostgres}

// each runs a test with all backends, which must not differ.
func each(t *testing.T, f func(t *testing.T, ctx context.Context, b storage.Backend)) {
	for name, make := range backends {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			f(t, ctx, make(t))
		})
	}
}

func TestWrites(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		if _, err := b.Get(ctx, "/r/a"); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("get of a missing key: %v", err)
		}
		r1, err := b.Create(ctx, "/r/a", []byte("1"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Create(ctx, "/r/a", []byte("x"), 0); !errors.Is(err, storage.ErrExists) {
			t.Errorf("second create: %v", err)
		}
		r2, err := b.Update(ctx, "/r/a", []byte("2"), r1, 0)
		if err != nil || r2 <= r1 {
			t.Fatalf("update: %d, %v", r2, err)
		}
		var conflict *storage.ConflictError
		_, err = b.Update(ctx, "/r/a", []byte("3"), r1, 0)
		if !errors.As(err, &conflict) || conflict.Current == nil || conflict.Current.Revision != r2 || string(conflict.Current.Value) != "2" {
			t.Errorf("update of an old revision: %v", err)
		}
		_, err = b.Delete(ctx, "/r/a", r1)
		if !errors.As(err, &conflict) || conflict.Current == nil || conflict.Current.Revision != r2 {
			t.Errorf("deletion of an old revision: %v", err)
		}
		if now, err := b.Revision(ctx); now != r2 || err != nil {
			t.Errorf("the revision is %d, %v; want %d", now, err, r2)
		}
		r3, err := b.Delete(ctx, "/r/a", r2)
		if err != nil || r3 <= r2 {
			t.Fatalf("delete: %d, %v", r3, err)
		}
		_, err = b.Update(ctx, "/r/a", []byte("3"), r2, 0)
		if !errors.As(err, &conflict) || conflict.Current != nil {
			t.Errorf("update of a deleted key: %v", err)
		}
		for _, size := range []int{1_600_000, 3 << 20} {
			if _, err := b.Create(ctx, "/r/big", make([]byte, size), 0); !errors.Is(err, storage.ErrTooLarge) {
				t.Errorf("a value of %d bytes: %v", size, err)
			}
		}
		if err := etcd.Check(ctx, b, "/r/", time.Second); err != nil {
			t.Errorf("check: %v", err)
		}
		if n, err := b.DatabaseSize(ctx); n <= 0 || err != nil {
			t.Errorf("size %d, %v", n, err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := b.Create(ended, "/r/b", []byte("1"), 0); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled create: %v", err)
		}
	})
}

// A write whose condition does not hold changes nothing, whether its key is as expected or not.
func TestConditions(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		first, err := b.Create(ctx, "/r/condition", []byte("1"), 0)
		if err != nil {
			t.Fatal(err)
		}
		under := func(key string, revision int64) context.Context {
			return storage.WithCondition(ctx, storage.Condition{Key: key, Revision: revision})
		}
		held, absent := under("/r/condition", first), under("/r/none", 0)
		a, err := b.Create(held, "/r/a", []byte("1"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Create(held, "/r/a", []byte("x"), 0); !errors.Is(err, storage.ErrExists) {
			t.Errorf("a second create: %v", err)
		}
		if a, err = b.Update(absent, "/r/a", []byte("2"), a, 0); err != nil {
			t.Fatal(err)
		}
		var conflict *storage.ConflictError
		if _, err = b.Update(held, "/r/a", []byte("x"), a-1, 0); !errors.As(err, &conflict) ||
			conflict.Current == nil || string(conflict.Current.Value) != "2" {
			t.Errorf("an update of an old revision: %v", err)
		}
		second, err := b.Update(ctx, "/r/condition", []byte("2"), first, 0)
		if err != nil {
			t.Fatal(err)
		}
		fails := func(what string, ctx context.Context) {
			t.Helper()
			_, create := b.Create(ctx, "/r/b", []byte("1"), 0)
			_, again := b.Create(ctx, "/r/a", []byte("1"), 0)
			_, update := b.Update(ctx, "/r/a", []byte("3"), a, 0)
			_, old := b.Update(ctx, "/r/a", []byte("3"), a-1, 0)
			_, remove := b.Delete(ctx, "/r/a", a)
			for _, err := range []error{create, again, update, old, remove} {
				if !errors.Is(err, storage.ErrCondition) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		fails("a key at another revision", held)
		fails("a key that exists", under("/r/condition", 0))
		fails("a key that does not exist", under("/r/none", first))
		if _, err := b.Delete(ctx, "/r/condition", second); err != nil {
			t.Fatal(err)
		}
		fails("a deleted key", under("/r/condition", second))
		if _, err := b.Delete(under("/r/condition", 0), "/r/a", a); err != nil {
			t.Errorf("a deletion without a deleted key: %v", err)
		}
		if kept, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/"}); err != nil || len(kept.Items) > 0 {
			t.Errorf("stored are %v, %v", kept.Items, err)
		}
	})
}

func TestRange(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		var revs []int64
		for _, key := range []string{"/r/a", "/r/b", "/r/c", "/rx"} {
			rev, err := b.Create(ctx, key, []byte(key), 0)
			if err != nil {
				t.Fatal(err)
			}
			revs = append(revs, rev)
		}
		for _, test := range []struct {
			name  string
			opts  storage.RangeOptions
			want  string
			count int64
			more  bool
		}{
			{"prefix", storage.RangeOptions{Prefix: "/r/"}, "/r/a /r/b /r/c", 3, false},
			{"limit", storage.RangeOptions{Prefix: "/r/", Limit: 2}, "/r/a /r/b", 3, true},
			{"after", storage.RangeOptions{Prefix: "/r/", After: "/r/a", Limit: 1}, "/r/b", 2, true},
			{"revision", storage.RangeOptions{Prefix: "/r/", Revision: revs[1]}, "/r/a /r/b", 2, false},
			{"count", storage.RangeOptions{Prefix: "/r/", CountOnly: true}, "", 3, false},
			{"all", storage.RangeOptions{}, "/r/a /r/b /r/c /rx", 4, false},
		} {
			got, err := b.Range(ctx, test.opts)
			var keys []string
			for _, kv := range got.Items {
				keys = append(keys, kv.Key)
			}
			if err != nil || strings.Join(keys, " ") != test.want || got.Count != test.count || got.More != test.more {
				t.Errorf("%s: got %v of %d, more %v, %v", test.name, keys, got.Count, got.More, err)
			}
		}
		if _, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: 1000}); !errors.Is(err, storage.ErrFutureRevision) {
			t.Errorf("a future revision: %v", err)
		}
		if err := b.Compact(ctx, revs[3]); err != nil {
			t.Fatal(err)
		}
		if err := b.Compact(ctx, revs[2]); !errors.Is(err, storage.ErrCompacted) {
			t.Errorf("compacting again: %v", err)
		}
		if _, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: revs[1]}); !errors.Is(err, storage.ErrCompacted) {
			t.Errorf("a compacted revision: %v", err)
		}
	})
}

func TestWatch(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		from, err := b.Create(ctx, "/r/a", []byte("1"), 0)
		if err != nil {
			t.Fatal(err)
		}
		up, _ := b.Update(ctx, "/r/a", []byte("2"), from, 0)
		s, err := b.Watch(ctx, "/r/", from, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		del, _ := b.Delete(ctx, "/r/a", up)
		again, _ := b.Create(ctx, "/r/a", []byte("3"), 0)
		other, _ := b.Create(ctx, "/s", []byte("x"), 0)
		var got []string
		var progress int64
		for len(got) < 3 {
			changes, p, err := s.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			progress = p
			for _, c := range changes {
				got = append(got, fmt.Sprintf("%s=%s was %s@%d deleted %v @%d", c.Key, c.Value, c.Previous, c.PrevRev, c.Deleted(), c.Revision))
			}
		}
		want := []string{
			fmt.Sprintf("/r/a=2 was 1@%d deleted false @%d", from, up),
			fmt.Sprintf("/r/a= was 2@%d deleted true @%d", up, del),
			fmt.Sprintf("/r/a=3 was @0 deleted false @%d", again),
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for progress < other {
			if err := b.RequestProgress(ctx); err != nil {
				t.Fatal(err)
			}
			wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			_, p, err := s.Next(wait)
			cancel()
			if err != nil && ctx.Err() != nil {
				t.Fatalf("no progress to %d: %v", other, err)
			}
			progress = max(progress, p)
		}
		if err := b.Compact(ctx, again); err != nil {
			t.Fatal(err)
		}
		old, err := b.Watch(ctx, "/r/", from, nil)
		if err == nil {
			_, _, err = old.Next(ctx)
			old.Close()
		}
		if !errors.Is(err, storage.ErrCompacted) {
			t.Errorf("a watch from a compacted revision: %v", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, _, err := s.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Next of a cancelled context: %v", err)
		}
	})
}

func TestKeysExpireWithTheirLease(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		if _, err := b.Create(ctx, "/r/a", []byte("1"), time.Second); err != nil {
			t.Fatal(err)
		}
		rev, err := b.Create(ctx, "/r/b", []byte("1"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Update(ctx, "/r/b", []byte("2"), rev, 0); err != nil {
			t.Fatal(err)
		}
		for {
			_, err := b.Get(ctx, "/r/a")
			if errors.Is(err, storage.ErrNotFound) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if _, err := b.Get(ctx, "/r/b"); err != nil {
			t.Errorf("a key freed from its lease: %v", err)
		}
	})
}

func TestDialFailsClearly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := "http://" + l.Addr().String()
	l.Close()
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		cfg  etcd.Config
		want string
	}{
		{etcd.Config{Endpoints: []string{unused}, Timeout: 200 * time.Millisecond}, "etcd at " + unused + " cannot be reached within 200ms"},
		{etcd.Config{}, "no etcd endpoints given"},
		{etcd.Config{Endpoints: []string{unused}, CAFile: "/none/ca.pem"}, "--etcd-cafile: open /none/ca.pem"},
		{etcd.Config{Endpoints: []string{unused}, CAFile: notPEM}, "holds no PEM data"},
	} {
		_, err := etcd.Dial(context.Background(), test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	for name, make := range backends {
		b.Run(name, func(b *testing.B) {
			backend := make(b)
			value := []byte(strings.Repeat("x", 500))
			b.ReportAllocs()
			b.SetParallelism(8)
			var n atomicCounter
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := backend.Create(context.Background(), fmt.Sprintf("/r/%d", n.next()), value, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkRevision(b *testing.B) {
	for name, make := range backends {
		b.Run(name, func(b *testing.B) {
			backend := make(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := backend.Revision(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
