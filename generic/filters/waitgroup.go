package filters

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// waiting is the bit of WaitGroup's state that refuses new requests.
const waiting = 1 << 62

// WaitGroup counts requests in flight and refuses new ones once waiting began.
// The zero value is ready.
type WaitGroup struct {
	state atomic.Int64
	once  sync.Once
	idle  chan struct{}
	drain sync.Once
}

// Enter counts a request; false means that it is too late for it.
func (g *WaitGroup) Enter() bool {
	if g.state.Add(1)&waiting != 0 {
		g.Leave()
		return false
	}
	return true
}

// Leave ends what a successful Enter began.
func (g *WaitGroup) Leave() {
	if g.state.Add(-1) == waiting {
		g.drained()
	}
}

// Count is how many requests are in flight.
func (g *WaitGroup) Count() int { return int(g.state.Load() &^ waiting) }

// Wait refuses new requests from now on and returns when none is left, or with
// the context's error.
func (g *WaitGroup) Wait(ctx context.Context) error {
	idle := g.channel()
	if g.state.Or(waiting)&^waiting == 0 {
		g.drained()
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *WaitGroup) channel() chan struct{} {
	g.once.Do(func() { g.idle = make(chan struct{}) })
	return g.idle
}

func (g *WaitGroup) drained() { g.drain.Do(func() { close(g.channel()) }) }

// withWaitGroup counts the requests that shutdown waits for: all but the
// long-running ones.
func withWaitGroup(g *WaitGroup) func(http.Handler) http.Handler {
	if g == nil {
		return unchanged
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if exchangeOf(r).longRunning {
				next.ServeHTTP(w, r)
				return
			}
			if !g.Enter() {
				// The client probably reaches another server next.
				w.Header().Set("Retry-After", "1")
				writeStatus(w, r, apierrors.NewServiceUnavailable("apiserver is shutting down"))
				return
			}
			defer g.Leave()
			next.ServeHTTP(w, r)
		})
	}
}
