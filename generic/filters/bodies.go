package filters

import (
	"net/http"
	"sync"
	"time"
)

// lastBytes is how long bodies may take to arrive once the server shuts down, or
// has answered without them.
const lastBytes = time.Second

// Bodies are the requests in flight that have a body. All methods are safe for
// concurrent use; the zero value is ready, and a nil one counts nothing.
type Bodies struct {
	mu       sync.Mutex
	open     map[*http.ResponseController]struct{}
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
		_ = c.SetReadDeadline(time.Now().Add(lastBytes)) // it worked a moment ago
		return func() {}
	}
	if b.open == nil {
		b.open = map[*http.ResponseController]struct{}{}
	}
	b.open[c] = struct{}{}
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

// Expire ends the wait for bodies: those that are not there in a second do not
// come.
func (b *Bodies) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expiring = true
	for c := range b.open {
		_ = c.SetReadDeadline(time.Now().Add(lastBytes)) // the client is gone, or not
	}
}
