package filters

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane/generic/guard/authentication"
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

// Enter counts a request; it returns false where waiting has begun.
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

// refusing reports whether new requests are refused.
func (g *WaitGroup) refusing() bool { return g.state.Load()&waiting != 0 }

// RetryAfterOptions is --shutdown-send-retry-after.
type RetryAfterOptions struct {
	// ShutdownSendRetryAfter keeps the listener open while requests in flight
	// finish, and answers new ones 429.
	ShutdownSendRetryAfter bool
}

// withRetryAfter answers 429 once the server waits for its last requests, and
// closes the connection, so that clients reconnect to another server. The server's
// own requests and those for its health checks pass.
//
// Options: --shutdown-send-retry-after. Metrics: none. Order: before waitGroup,
// which answers 503 where this filter is off.
func withRetryAfter(o RetryAfterOptions, group WaitGroupOptions) filter {
	g := group.InFlight
	if g == nil || !o.ShutdownSendRetryAfter {
		return nil
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

// WaitGroupOptions is the counter of requests, which the server waits for.
type WaitGroupOptions struct {
	// InFlight counts requests so that shutdown can wait for them; nil counts
	// nothing.
	InFlight *WaitGroup
}

// withWaitGroup counts the requests that shutdown waits for: all but the
// long-running ones. It answers 503 to those that come too late.
//
// Options: none. Metrics: none. Order: behind requestInfo, which determines what
// is long-running; before everything that works on the request.
func withWaitGroup(o WaitGroupOptions) filter {
	g := o.InFlight
	if g == nil {
		return nil
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
