package filters

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/guard/authentication"
)

// waiting is the bit of WaitGroup's state that rejects new requests.
const waiting = 1 << 62

// WaitGroup counts requests in flight, and rejects new ones after Wait was called. The zero value is ready to use.
type WaitGroup struct {
	state atomic.Int64
	once  sync.Once
	idle  chan struct{}
	drain sync.Once
}

// Enter counts a request; it returns false after Wait was called.
func (g *WaitGroup) Enter() bool {
	if g.state.Add(1)&waiting != 0 {
		g.Leave()
		return false
	}
	return true
}

// Leave ends a successful Enter.
func (g *WaitGroup) Leave() {
	if g.state.Add(-1) == waiting {
		g.drained()
	}
}

// Count returns the number of requests in flight.
func (g *WaitGroup) Count() int { return int(g.state.Load() &^ waiting) }

// Wait rejects new requests from now on. It returns when no request is left, or with the context's error.
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

// draining reports whether new requests are rejected.
func (g *WaitGroup) draining() bool { return g.state.Load()&waiting != 0 }

// RetryAfterOptions is --shutdown-send-retry-after.
type RetryAfterOptions struct {
	// ShutdownSendRetryAfter keeps the listener open while requests in flight complete, and responds 429 to new
	// ones.
	ShutdownSendRetryAfter bool
}

// withRetryAfter responds 429 while the server drains, and closes the connection, so that clients reconnect to
// another server. Loopback requests and health checks pass.
//
// Options: --shutdown-send-retry-after. Metrics: none. Order: before waitGroup, which responds 503 if this filter
// is disabled.
func withRetryAfter(o RetryAfterOptions, group WaitGroupOptions) filter {
	g := group.InFlight
	if g == nil || !o.ShutdownSendRetryAfter {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !g.draining() || authentication.IsLoopback(r.Context()) || isHealthCheck(r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The apiserver is shutting down, please try again later.", http.StatusTooManyRequests)
		})
	}
}

func isHealthCheck(path string) bool {
	for _, check := range []string{"/healthz", "/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(path, check); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// WaitGroupOptions configures the counter of requests for which shutdown waits.
type WaitGroupOptions struct {
	// InFlight counts requests, so that shutdown can wait for them; nil counts nothing.
	InFlight *WaitGroup
}

// withWaitGroup counts the requests for which shutdown waits: all but the long-running ones. It responds 503 to
// requests that arrive later.
//
// Options: none. Metrics: none. Order: after requestInfo, which determines which requests are long-running; before
// everything that works on the request.
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
				responsewriters.WriteError(w, r, apierrors.NewServiceUnavailable("apiserver is shutting down"))
				return
			}
			defer g.Leave()
			next.ServeHTTP(w, r)
		})
	}
}
