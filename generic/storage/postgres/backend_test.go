//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/postgres/postgrestest"
)

// The behaviour that all backends have in common is tested in package etcd.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if server, err := shared(); err == nil {
			_ = server.Close()
		}
		os.Exit(code)
	}))
}

// shared is the server of the tests that do not stop it.
var shared = sync.OnceValues(func() (*postgrestest.Server, error) { return postgrestest.New("fsync=off") })

// database creates a database and returns its URL.
func database(t testing.TB) (*postgrestest.Server, string) {
	t.Helper()
	server, err := shared()
	postgrestest.Need(t, err)
	url, err := server.Database()
	if err != nil {
		t.Fatal(err)
	}
	return server, url
}

func open(t testing.TB, url string) *Backend {
	t.Helper()
	b, err := Open(t.Context(), Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// follow returns the changes of a stream until one is at a revision.
func follow(ctx context.Context, s storage.ChangeStream, until int64) (all []storage.Change, err error) {
	for {
		changes, progress, err := s.Next(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, changes...)
		if progress >= until {
			return all, nil
		}
	}
}

// Two replicas write concurrently. A watch of each sees every revision once and in order, and each consistent read
// includes what was acknowledged before.
func TestRevisionsHaveOneOrder(t *testing.T) {
	_, url := database(t)
	replicas := []*Backend{open(t, url), open(t, url)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from, err := replicas[0].Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const writers, writes = 8, 40
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			b, other := replicas[w%2], replicas[(w+1)%2]
			for i := range writes {
				at, err := b.Create(ctx, fmt.Sprintf("/r/%d/%d", w, i), []byte{}, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if now, err := other.Revision(ctx); err != nil || now < at {
					t.Errorf("the revision is %d, %v, after a write at %d", now, err, at)
				}
			}
		})
	}
	for _, b := range replicas {
		running.Go(func() {
			s, err := b.Watch(ctx, "/r/", from, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			all, err := follow(ctx, s, from+writers*writes)
			if err != nil || len(all) != writers*writes {
				t.Errorf("%d changes, %v", len(all), err)
			}
			for i, c := range all {
				if c.Revision != from+int64(i)+1 || c.Value == nil {
					t.Fatalf("change %d is at %d, value %v", i, c.Revision, c.Value)
				}
			}
		})
	}
	running.Wait()
	if n := replicas[0].writer.batches.transactions.Load(); n >= writers*writes/2 {
		t.Errorf("%d transactions for %d writes", n, writers*writes/2)
	}
}

// A watch that starts long before the log of the poller reads from the database, and previous values are read for the
// keys that need them.
func TestWatchFromBeforeTheLog(t *testing.T) {
	_, url := database(t)
	b, ctx := open(t, url), t.Context()
	from, err := b.Create(ctx, "/r/a", []byte("0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	const updates = batchMax + 20
	last := from
	for i := range updates {
		if last, err = b.Update(ctx, "/r/a", fmt.Append(nil, i+1), last, 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, need := range map[string]func(string) bool{"all": nil, "none": func(string) bool { return false }} {
		s, err := b.Watch(ctx, "/r/", from, need)
		if err != nil {
			t.Fatal(err)
		}
		all, err := follow(ctx, s, last)
		if err != nil || len(all) != updates {
			t.Fatalf("%d changes, %v", len(all), err)
		}
		for i, c := range all {
			previous, revision := fmt.Sprint(i), from+int64(i)
			if need != nil {
				previous, revision = "", 0
			}
			if string(c.Previous) != previous || c.PrevRev != revision {
				t.Fatalf("%s: change %d was %q at %d", name, i, c.Previous, c.PrevRev)
			}
		}
		s.Close()
	}
}

// A list in pages counts keys once.
func TestPagesCountOnce(t *testing.T) {
	_, url := database(t)
	b, ctx := open(t, url), t.Context()
	for i := range 10 {
		if _, err := b.Create(ctx, fmt.Sprintf("/r/%d", i), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	opts := storage.RangeOptions{Prefix: "/r/", Limit: 3}
	for want := int64(10); ; want -= 3 {
		page, err := b.Range(ctx, opts)
		if err != nil || page.Count != want {
			t.Fatalf("%d keys from %q on, %v; want %d", page.Count, opts.After, err, want)
		}
		if !page.More {
			break
		}
		opts.Revision, opts.After = page.Revision, page.Items[len(page.Items)-1].Key
		if _, known := b.counts.get(pageStart{"/r/", opts.After, page.Revision}); !known {
			t.Errorf("the count from %q on is not known", opts.After)
		}
		if _, err := b.Create(ctx, "/r/later"+opts.After[3:], nil, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// A key that PostgreSQL cannot index fails alone.
func TestKeyTooLong(t *testing.T) {
	_, url := database(t)
	b := open(t, url)
	var long [3000]byte
	random := uint32(1) // what is random cannot be compressed
	for i := range long {
		random = random*1664525 + 1013904223
		long[i] = 'a' + byte(random>>24)%26
	}
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			key := fmt.Sprintf("/r/%d", i)
			if i%5 == 0 {
				key += string(long[:])
			}
			_, err := b.Create(t.Context(), key, nil, 0)
			if i%5 == 0 && !errors.Is(err, storage.ErrTooLarge) || i%5 != 0 && err != nil {
				t.Errorf("a key of %d bytes: %v", len(key), err)
			}
		})
	}
	running.Wait()
}

// Compaction deletes rows that later ones supersede, and those of deletions.
func TestCompactionDeletesRows(t *testing.T) {
	_, url := database(t)
	b, ctx := open(t, url), t.Context()
	must := func(revision int64, err error) int64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	at := must(b.Create(ctx, "/r/kept", []byte("0"), 0))
	for range removeLimit + 10 {
		at = must(b.Update(ctx, "/r/kept", []byte("1"), at, 0))
	}
	gone := must(b.Create(ctx, "/r/gone", nil, 0))
	last := must(b.Delete(ctx, "/r/gone", gone))
	if err := b.Compact(ctx, gone); err != nil {
		t.Fatal(err)
	}
	if page, err := b.Range(ctx, storage.RangeOptions{Revision: gone}); err != nil || len(page.Items) != 2 {
		t.Errorf("at the compacted revision: %v, %v", page.Items, err)
	}
	if err := b.Compact(ctx, last); err != nil {
		t.Fatal(err)
	}
	must(b.Create(ctx, "/r/next", nil, 0))
	if err := b.remove(ctx); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := b.pool.QueryRow(ctx, "SELECT count(*) FROM triplane.kv").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows are left, %v", rows, err)
	}
	if err := b.Compact(ctx, last+2); !errors.Is(err, storage.ErrFutureRevision) {
		t.Errorf("compacting the future: %v", err)
	}
}

// Two processes compact once per interval.
func TestCompactor(t *testing.T) {
	_, url := database(t)
	replicas := []*Backend{open(t, url), open(t, url)}
	ctx, cancel := context.WithCancel(t.Context())
	first, err := replicas[0].Create(ctx, "/r/0", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for _, b := range replicas {
		running.Go(func() { b.RunCompactor(ctx, 100*time.Millisecond) })
	}
	defer running.Wait()
	defer cancel()
	for i := 1; ; i++ {
		at, err := replicas[1].Create(ctx, fmt.Sprintf("/r/%d", i), []byte("x"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := replicas[0].Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: at}); err != nil {
			t.Fatalf("the present is compacted: %v", err)
		}
		_, err = replicas[0].Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: first})
		if errors.Is(err, storage.ErrCompacted) {
			break
		}
		if i > 5000 {
			t.Fatalf("nothing is compacted: %v", err)
		}
	}
}

// A write that the caller gave up before it was sent is not executed, and one without a connection was not written.
func TestWritesInDoubt(t *testing.T) {
	server := postgrestest.Start(t)
	b := open(t, server.URL("postgres"))
	if _, err := b.Create(t.Context(), "/r/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	for i := range maxFlights + 1 { // the last one waits in the queue
		running.Go(func() {
			if _, err := b.Create(ctx, fmt.Sprintf("/r/doubt%d", i), nil, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a write to a paused server: %v", err)
			}
		})
		if i < maxFlights {
			time.Sleep(20 * time.Millisecond)
		}
	}
	running.Wait()
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for {
		_, err := b.Create(t.Context(), "/r/b", []byte("1"), 0)
		if errors.Is(err, storage.ErrNotWritten) {
			break
		}
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("a write to a killed server: %v", err)
		}
	}
	if _, err := b.Get(t.Context(), "/r/a"); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a read of a killed server: %v", err)
	}
	if _, err := b.Revision(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a consistent read of a killed server: %v", err)
	}
}

// A stream and its Backend survive a crash of the server, and miss nothing.
func TestServerRestarts(t *testing.T) {
	server := postgrestest.Start(t)
	b, ctx := open(t, server.URL("postgres")), t.Context()
	from, err := b.Create(ctx, "/r/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Watch(ctx, "/r/", from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server.Kill()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var at int64
	for at == 0 {
		if at, err = b.Update(ctx, "/r/a", []byte("2"), from, 0); err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	all, err := follow(ctx, s, at)
	if err != nil || len(all) != 1 || string(all[0].Value) != "2" || all[0].Revision != from+1 {
		t.Errorf("the watch has %v, %v", all, err)
	}
}

// After a promotion revisions continue after a gap, watches end and the standby's data is served.
func TestPromotion(t *testing.T) {
	primary := postgrestest.Start(t)
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	if _, err := Open(t.Context(), Config{URL: standby.URL("postgres"), Timeout: time.Second}); err == nil ||
		!strings.Contains(err.Error(), "read only") && !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a standby: %v", err)
	}
	hosts := strings.Replace(primary.URL("postgres"), primary.Host(), primary.Host()+","+standby.Host(), 1)
	b, ctx := open(t, hosts), t.Context()
	at, err := b.Create(ctx, "/r/a", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Watch(ctx, "/r/", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for { // until the write is replicated
		err := standby.Exec(ctx, "postgres", fmt.Sprintf("SELECT 1 / (triplane.latest() >= %d)::int", at))
		if err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	primary.Kill()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	var next int64
	for next == 0 {
		if next, err = b.Update(ctx, "/r/a", []byte("2"), at, 0); err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if next < at+1_000_000 {
		t.Errorf("the revision after the promotion is %d, after %d", next, at)
	}
	if _, err := follow(ctx, s, next); !errors.Is(err, storage.ErrCompacted) {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := b.Range(ctx, storage.RangeOptions{Revision: at}); !errors.Is(err, storage.ErrCompacted) {
		t.Errorf("a read before the promotion: %v", err)
	}
}
