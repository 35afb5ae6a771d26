package filters

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane/generic/authentication"
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

// refusing tells whether it is too late for new requests.
func (g *WaitGroup) refusing() bool { return g.state.Load()&waiting != 0 }

// withRetryAfter answers 429 once the server waits for its last requests, and
// has the connection closed, so that clients come back elsewhere. The server's
// own requests and those about its health get through.
func withRetryAfter(g *WaitGroup, on bool) func(http.Handler) http.Handler {
	if g == nil || !on {
		return unchanged
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !g.refusing() || authentication.IsLoopback(r.Context()) || aboutHealth(r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The apiserver is shutting down, please try again later.", http.StatusTooManyRequests)
		})
	}
}

func aboutHealth(path string) bool {
	for _, check := range []string{"/healthz", "/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(path, check); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

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
