package filters

import (
	"net/http"
	"sync"
	"time"
)

const (
	// lastBytes bounds the time to receive the rest of a body after the handler has responded without reading it.
	lastBytes = time.Second
	// bodiesAtShutdown bounds the time to receive bodies during shutdown. It suffices for active clients and is
	// shorter than the grace periods of common supervisors.
	bodiesAtShutdown = 10 * time.Second
)

// Bodies tracks the requests in flight that have a body. All methods are safe for concurrent use. The zero value
// is ready to use, and a nil *Bodies tracks nothing.
type Bodies struct {
	mu       sync.Mutex
	open     map[*http.ResponseController]time.Time // values are the deadlines
	expiring bool
}

// await makes reads of the request's body fail after the deadline, or soon after the server starts to shut down.
// The returned function stops tracking the request.
func (b *Bodies) await(w http.ResponseWriter, r *http.Request, deadline time.Time) (done func()) {
	c := http.NewResponseController(w)
	if c.SetReadDeadline(deadline) != nil || b == nil {
		return func() {} // there is no connection
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expiring {
		_ = c.SetReadDeadline(atShutdown(deadline)) // succeeded above, and nothing can be done about an error
		return func() {}
	}
	if b.open == nil {
		b.open = map[*http.ResponseController]time.Time{}
	}
	b.open[c] = deadline
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
		if r.ProtoMajor == 1 {
			// net/http reads the rest of the body before it completes the request.
			_ = c.SetReadDeadline(time.Now().Add(lastBytes))
		}
	}
}

// Expire makes reads of all bodies fail that do not arrive within bodiesAtShutdown, including those of later
// requests.
func (b *Bodies) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expiring = true
	for c, deadline := range b.open {
		_ = c.SetReadDeadline(atShutdown(deadline)) // fails only on closed connections
	}
}

// atShutdown returns the earlier of the deadline and the end of bodiesAtShutdown.
func atShutdown(deadline time.Time) time.Time {
	if last := time.Now().Add(bodiesAtShutdown); last.Before(deadline) {
		return last
	}
	return deadline
}
