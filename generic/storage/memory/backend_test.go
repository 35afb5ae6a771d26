package memory

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// The behaviour that all backends have in common is tested in package etcd.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Compaction releases the versions that only older revisions need.
func TestCompactionGivesBack(t *testing.T) {
	b, ctx := New(), t.Context()
	value := make([]byte, 1000)
	rev, err := b.Create(ctx, "/r/kept", value, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if rev, err = b.Update(ctx, "/r/kept", value, rev, 0); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := b.Create(ctx, "/r/gone", value, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Delete(ctx, "/r/gone", gone); err != nil {
		t.Fatal(err)
	}
	last, err := b.Update(ctx, "/r/kept", []byte("last"), rev, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Compact(ctx, gone); err != nil {
		t.Fatal(err)
	}
	got, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: gone})
	if err != nil || len(got.Items) != 2 || len(got.Items[1].Value) != 1000 {
		t.Errorf("at the compacted revision: %v, %v", got.Items, err)
	}
	if err := b.Compact(ctx, last); err != nil {
		t.Fatal(err)
	}
	if size, err := b.DatabaseSize(ctx); size != int64(len("/r/kept")+len("last")) || err != nil {
		t.Errorf("%d bytes are left, %v", size, err)
	}
	if len(b.log) != 0 || b.keys.Len() != 1 {
		t.Errorf("%d changes and %d keys are left", len(b.log), b.keys.Len())
	}
}

// The compactor compacts revisions that are older than an interval.
func TestRunCompactor(t *testing.T) {
	b := New()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	var running worker.Group
	running.Go(func() { b.RunCompactor(ctx, time.Millisecond) })
	for i := 0; ; i++ {
		if _, err := b.Create(ctx, fmt.Sprint("/r/", i), nil, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Range(ctx, storage.RangeOptions{Revision: 2}); errors.Is(err, storage.ErrCompacted) {
			break
		}
	}
	cancel()
	running.Wait()
}

func TestClose(t *testing.T) {
	b, ctx := New(), t.Context()
	s, err := b.Watch(ctx, "/", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.Next(ctx)
		ended <- err
	}()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := b.Create(ctx, "/r/a", nil, 0); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("a write after Close: %v", err)
	}
	if _, err := b.Get(ctx, "/r/a"); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("a read after Close: %v", err)
	}
}

// Each watch receives concurrent writes once and in order.
func TestWatchesSeeEverything(t *testing.T) {
	const writers, writes, watches = 4, 500, 3
	b := New()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all worker.Group
	for range watches {
		s, err := b.Watch(ctx, "/r/", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			next := int64(2)
			for next < 2+writers*writes {
				changes, progress, err := s.Next(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range changes {
					if c.Revision != next {
						t.Errorf("revision %d comes, want %d", c.Revision, next)
						return
					}
					next++
				}
				if progress != next-1 {
					t.Errorf("progress to %d after %d", progress, next-1)
				}
			}
		})
	}
	for w := range writers {
		all.Go(func() {
			for i := range writes {
				if _, err := b.Create(ctx, fmt.Sprintf("/r/%d/%d", w, i), []byte("x"), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
