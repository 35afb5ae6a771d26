package request

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// waiter counts the requests that wait, and has them stop with stopped.
type waiter struct {
	waiting atomic.Int32
	stopped context.Context //nolint:containedctx // of the test
}

func (w *waiter) Release() {}

func (w *waiter) Wait(context.Context) (context.Context, func()) {
	w.waiting.Add(1)
	return w.stopped, func() { w.waiting.Add(-1) }
}

func TestLock(t *testing.T) {
	var l Lock
	stopped, stop := context.WithCancelCause(t.Context())
	w := &waiter{stopped: stopped}
	s := &State{Seats: w}
	s.Init(t.Context())
	if err := l.Lock(s); err != nil || w.waiting.Load() != 0 {
		t.Fatalf("the first one waits (%v)", err)
	}
	const n = 20
	results := make(chan error, n)
	for range n {
		go func() { results <- l.Lock(s) }()
	}
	for w.waiting.Load() < n {
	}
	l.Unlock()
	if err := <-results; err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	stop(enough)
	for range n - 1 {
		if err := <-results; !errors.Is(err, enough) {
			t.Errorf("a request that must not wait any more got %v", err)
		}
	}
	l.Unlock()
	if err := l.Lock(s); err != nil || w.waiting.Load() != 0 {
		t.Errorf("a free lock is not locked (%v, %d wait)", err, w.waiting.Load())
	}
}

func TestLockExcludes(t *testing.T) {
	var l Lock
	var all sync.WaitGroup
	count := 0
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if l.Lock(t.Context()) == nil {
					count++
					l.Unlock()
				}
			}
		})
	}
	if all.Wait(); count != 8000 {
		t.Errorf("%d of 8000", count)
	}
}
