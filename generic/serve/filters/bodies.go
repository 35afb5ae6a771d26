package filters

import (
	"net/http"
	"sync"
	"time"
)

const (
	// lastBytes is how long the rest of a body may take once the server has answered without it.
	lastBytes = time.Second
	// bodiesAtShutdown is how long bodies may take to arrive once the server shuts down: enough for
	// clients that send, and within the time that supervisors give a process to end.
	bodiesAtShutdown = 10 * time.Second
)

// Bodies are the requests in flight that have a body. All methods are safe for
// concurrent use; the zero value is ready, and a nil one counts nothing.
type Bodies struct {
	mu       sync.Mutex
	open     map[*http.ResponseController]time.Time // with their deadlines
	expiring bool
}

// await has reads of the request's body fail after the deadline, or when the
// server shuts down; the returned function ends that.
func (b *Bodies) await(w http.ResponseWriter, r *http.Request, deadline time.Time) (done func()) {
	c := http.NewResponseController(w)
	if c.SetReadDeadline(deadline) != nil || b == nil {
		return func() {} // there is no connection
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expiring {
		_ = c.SetReadDeadline(atShutdown(deadline)) // it worked a moment ago
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
			// net/http reads what the handler did not before it ends the request.
			_ = c.SetReadDeadline(time.Now().Add(lastBytes))
		}
	}
}

// Expire bounds the wait for bodies: those that are not there in bodiesAtShutdown do not
// come.
func (b *Bodies) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expiring = true
	for c, deadline := range b.open {
		_ = c.SetReadDeadline(atShutdown(deadline)) // the client is gone, or not
	}
}

// atShutdown is when a body has to be there, at the latest.
func atShutdown(deadline time.Time) time.Time {
	if last := time.Now().Add(bodiesAtShutdown); last.Before(deadline) {
		return last
	}
	return deadline
}
