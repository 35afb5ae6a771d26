package turns

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// Quantum is how long an answer goes on before it lets short ones go first. Half
	// of it costs long answers a fifth of their speed, twice as much costs a short
	// one 0.3 ms of its 99th percentile on one processor.
	Quantum = 50 * time.Microsecond
	// shift is how long a turn is: long answers take turns less often than they let
	// short ones go first, as each has a connection that the processor's caches hold.
	shift = 2 * time.Millisecond
	// lapse ends a turn that lasts too long, as when the client does not read.
	lapse = 2 * shift
	// leastPart is the part of the time, one of so many, that long answers get at
	// least where there is always something else to do.
	leastPart = 4
)

// Turn is the part of one request in the sharing. The zero Turn takes part in none.
// It belongs to the request's goroutine.
type Turn struct {
	turns *Turns
	// place is what the request holds while it is its turn.
	place atomic.Pointer[place]
	// since is when the piece of work began that ends after length.
	since  time.Time
	length time.Duration
	// ends is when the turn is another's.
	ends time.Time
}

// Join has the request take part; nil Turns leave it alone.
func (t *Turn) Join(all *Turns) { t.turns = all }

// Yield is called between pieces of a work, each of which takes much less than a
// quantum. It returns at once, or lets others go first and waits for a turn, but
// no longer than ctx.
func (t *Turn) Yield(ctx context.Context) {
	if t.turns == nil {
		return
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since, t.length = now, Quantum
		return
	}
	if now.Sub(t.since) < t.length {
		return
	}
	t.next(ctx)
}

// next begins another quantum.
func (t *Turn) next(ctx context.Context) {
	t.length = Quantum
	if p := t.place.Load(); p != nil {
		before := time.Now()
		p.afterOthers()
		t.since = time.Now()
		t.length = max(Quantum, t.since.Sub(before)/leastPart)
		if t.since.Before(t.ends) {
			return
		}
		t.End()
	}
	t.turns.wait(ctx, t)
	t.since = time.Now()
	t.ends = t.since.Add(shift)
}

// End gives the turn back. It has to be called when the request ends.
func (t *Turn) End() {
	if p := t.place.Load(); p != nil {
		t.turns.leave(t, p)
	}
}
