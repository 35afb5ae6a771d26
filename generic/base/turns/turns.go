package turns

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"triplane/internal/worker"
)

// Turns are the places of a server. It is safe for concurrent use.
type Turns struct {
	mu      sync.Mutex
	free    []*place
	waiting []*waiter
}

// place is the permission to go on; there is one for each processor.
type place struct {
	lapse *time.Timer
	once  sync.Once
	r, w  *os.File // a pipe, once it is needed
}

// waiter is a request that waits for a place.
type waiter struct {
	turn  *Turn
	ready chan struct{}
}

// New returns Turns with so many places.
func New(places int) *Turns {
	t := &Turns{}
	for range max(1, places) {
		t.free = append(t.free, &place{})
	}
	return t
}

// wait returns when the request has a place or ctx ends.
func (a *Turns) wait(ctx context.Context, t *Turn) {
	a.mu.Lock()
	if n := len(a.free); n > 0 {
		p := a.free[n-1]
		a.free = a.free[:n-1]
		a.give(p, t)
		a.mu.Unlock()
		return
	}
	w := &waiter{t, make(chan struct{})}
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		a.mu.Lock()
		a.waiting = slices.DeleteFunc(a.waiting, func(o *waiter) bool { return o == w })
		a.mu.Unlock()
	}
}

// give lets a request have a place. The caller holds the mutex.
func (a *Turns) give(p *place, t *Turn) {
	t.place.Store(p)
	p.lapse = time.AfterFunc(lapse, func() { a.leave(t, p) })
}

// leave takes the place from a request, unless it has lost it before, and lets the
// next one have it.
func (a *Turns) leave(t *Turn, p *place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.place.CompareAndSwap(p, nil) {
		return
	}
	p.lapse.Stop()
	if len(a.waiting) == 0 {
		a.free = append(a.free, p)
		return
	}
	next := a.waiting[0]
	a.waiting = slices.Delete(a.waiting, 0, 1)
	a.give(p, next.turn)
	close(next.ready)
}

// afterOthers returns when everything that was ready before, or had arrived from
// the network, has had its turn at a processor. runtime.Gosched is not enough for
// that: while a goroutine is ready the runtime looks at the network every ten
// milliseconds only. So the caller waits for the network, too: for a byte that it
// sends itself.
func (p *place) afterOthers() {
	p.once.Do(p.open)
	var b [1]byte
	if p.w == nil {
		runtime.Gosched()
		return
	}
	// The byte is sent when the caller sleeps.
	worker.Go(func() { _, _ = p.w.Write(b[:]) })
	_, _ = p.r.Read(make([]byte, 1))
}

// open makes the pipe, which is closed with the place: by the garbage collector.
// Without a pipe there are too many open files, and fairness is the least concern.
func (p *place) open() { p.r, p.w, _ = os.Pipe() }
