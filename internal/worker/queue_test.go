package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueProcessesEachKeyOnceAtATime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var active [4]atomic.Int64
	var runs atomic.Int64
	q := NewQueue(QueueConfig[int]{Workers: 8}, func(_ context.Context, key int) error {
		if active[key].Add(1) > 1 {
			t.Errorf("key %d is processed twice at the same time", key)
		}
		time.Sleep(time.Millisecond)
		active[key].Add(-1)
		runs.Add(1)
		return nil
	})
	for key := range active {
		q.Add(key) // before Start
	}
	q.Start(ctx)
	var adding sync.WaitGroup
	for range 50 {
		adding.Go(func() {
			for key := range active {
				q.Add(key)
			}
		})
	}
	adding.Wait()
	for q.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	q.Wait()
	if n := runs.Load(); n < 4 || n > 200 {
		t.Errorf("%d runs", n)
	}
}

// A key that is added while it is processed is processed once more.
func TestQueueMissesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var runs atomic.Int64
		var q *Queue[string]
		q = NewQueue(QueueConfig[string]{}, func(_ context.Context, key string) error {
			if runs.Add(1) == 1 {
				q.Add(key)
				q.Add(key)
			}
			return nil
		})
		q.Start(ctx)
		q.Add("a")
		synctest.Wait()
		if n := runs.Load(); n != 2 {
			t.Errorf("%d runs", n)
		}
		if len(q.items) > 0 || q.active > 0 {
			t.Errorf("%d keys and %d workers are left", len(q.items), q.active)
		}
		cancel()
		q.Wait()
	})
}

// Failures and panics are retried with growing delays; a success resets them.
func TestQueueRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		var at []time.Duration
		var failures []int
		q := NewQueue(QueueConfig[string]{FirstRetry: time.Second, LastRetry: 3 * time.Second,
			Failed: func(_ string, n int, _ error) { failures = append(failures, n) }},
			func(context.Context, string) error {
				at = append(at, time.Since(begun))
				switch len(at) {
				case 1:
					panic("once")
				case 2, 3, 4:
					return errors.New("again")
				}
				return nil
			})
		q.Start(ctx)
		q.Add("a")
		time.Sleep(time.Minute)
		q.Add("a")
		synctest.Wait()
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second, time.Minute}
		for i := range want {
			if len(at) != len(want) || at[i] != want[i] {
				t.Fatalf("it ran after %v, not %v", at, want)
			}
		}
		if len(failures) != 4 || failures[3] != 4 {
			t.Errorf("reported failures %v", failures)
		}
		cancel()
		q.Wait()
	})
}

// The delay that ends first counts, and a stopped queue has no timers.
func TestQueueDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var runs atomic.Int64
		q := NewQueue(QueueConfig[string]{}, func(context.Context, string) error { runs.Add(1); return nil })
		q.Start(ctx)
		q.AddAfter("a", time.Hour)
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", 2*time.Hour)
		q.AddAfter("b", 3*time.Hour)
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs after 90 minutes", n)
		}
		cancel()
		q.Wait()
		q.Add("a")
		q.AddAfter("a", time.Second)
		time.Sleep(5 * time.Hour)
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs after the end", n)
		}
	})
}

// Due is the earliest work that does not repeat, and keys that always fail become rare.
func TestQueueDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fail := errors.New("always")
		q := NewQueue(QueueConfig[string]{FirstRetry: time.Second, LastRetry: time.Minute},
			func(_ context.Context, key string) error {
				if key == "fails" {
					return fail
				}
				return nil
			})
		begun := time.Now()
		in := func(want time.Duration) {
			t.Helper()
			if due := q.Due(); want < 0 && !due.IsZero() || want >= 0 && !due.Equal(begun.Add(want)) {
				t.Errorf("due is %v after the begin, want %v", due.Sub(begun), want)
			}
		}
		in(-1)
		q.Add("a")
		in(0)
		q.Start(ctx)
		synctest.Wait()
		in(-1)
		q.Recheck("a", time.Second)
		in(-1)
		q.AddAfter("a", time.Hour)
		q.AddAfter("a", 2*time.Hour)
		q.AddAfter("b", 3*time.Hour)
		in(time.Hour)
		time.Sleep(2 * time.Second) // "a" was processed, which ends its delays
		in(3 * time.Hour)
		q.Add("fails")
		time.Sleep(30 * time.Minute)
		if left := time.Until(q.Due()); left < 10*time.Minute || left > 24*time.Hour {
			t.Errorf("a key that always fails is due in %v", left)
		}
		cancel()
		q.Wait()
	})
}
