package filters

import (
	"context"
	"net/http"
	"sync"

	"triplane/generic/guard/authentication"
	"triplane/internal/worker"
)

// termination ends long-running requests when the server shuts down. One
// goroutine waits for that as long as there are such requests, and none else.
type termination struct {
	terminating <-chan struct{}

	mu      sync.Mutex
	next    uint64
	cancels map[uint64]context.CancelFunc
	idle    chan struct{} // closed when the last request left
}

// TerminationOptions is the event that ends long-running requests.
type TerminationOptions struct {
	// Terminating is closed when the server has begun to shut down; nil leaves the
	// filter out.
	Terminating <-chan struct{}
}

// withTermination gives long-running requests a context that ends when the server
// shuts down. The server's own requests are left alone: its clients end them when
// they are stopped, and would take the end of a watch for a failure.
//
// Options: none. Metrics: none. Order: behind requestInfo, which determines what is
// long-running.
func withTermination(o TerminationOptions) filter {
	if o.Terminating == nil {
		return nil
	}
	t := &termination{terminating: o.Terminating, cancels: map[uint64]context.CancelFunc{}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning && !authentication.IsLoopback(r.Context()) {
				ctx, cancel := context.WithCancel(e.Parent())
				defer cancel()
				defer t.enter(cancel)()
				e.Init(ctx)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// enter has cancel called at termination; the returned function ends that.
func (t *termination) enter(cancel context.CancelFunc) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	id := t.next
	t.cancels[id] = cancel
	select {
	case <-t.terminating:
		cancel() // watch may have ended before those that it has cancelled leave
	default:
	}
	if len(t.cancels) == 1 {
		idle := make(chan struct{})
		t.idle = idle
		worker.Go(func() { t.watch(idle) })
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.cancels, id)
		if len(t.cancels) == 0 {
			close(t.idle)
		}
	}
}

func (t *termination) watch(idle <-chan struct{}) {
	select {
	case <-idle:
	case <-t.terminating:
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, cancel := range t.cancels {
			cancel()
		}
	}
}
