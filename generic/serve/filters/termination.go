package filters

import (
	"context"
	"net/http"
	"sync"

	"triplane.dev/generic/guard/authentication"
	"triplane.dev/internal/worker"
)

// termination cancels long-running requests when the server shuts down. One goroutine waits for shutdown while
// there are such requests.
type termination struct {
	terminating <-chan struct{}

	mu      sync.Mutex
	next    uint64
	cancels map[uint64]context.CancelFunc
	idle    chan struct{} // closed when the last request left
}

// TerminationOptions configures the end of long-running requests.
type TerminationOptions struct {
	// Terminating is closed when the server has started to shut down; nil disables the filter.
	Terminating <-chan struct{}
}

// withTermination cancels the context of long-running requests when the server shuts down. It skips loopback
// requests: the server's own clients end them when they stop, and would report the end of a watch as a failure.
//
// Options: none. Metrics: none. Order: after requestInfo, which determines which requests are long-running.
func withTermination(o TerminationOptions) filter {
	if o.Terminating == nil {
		return nil
	}
	t := &termination{terminating: o.Terminating, cancels: map[uint64]context.CancelFunc{}}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning && !authentication.IsLoopback(r.Context()) {
				e.Cancellable()
				leave := t.enter(e.Cancel)
				defer e.AtEnd(func(any) { leave() })
			}
			next.ServeHTTP(w, r)
		})
	}
}

// enter registers cancel to be called at termination. The returned function unregisters it.
func (t *termination) enter(cancel context.CancelFunc) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	id := t.next
	t.cancels[id] = cancel
	select {
	case <-t.terminating:
		cancel() // watch may have returned before those that it has cancelled leave
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
