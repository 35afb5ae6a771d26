package flowcontrol

import (
	"context"
	"sync/atomic"
	"time"

	"triplane/generic/base/request"
	"triplane/generic/base/user"
)

// Request is what flow control has to know about a request.
type Request struct {
	User *user.Info
	Info *request.Info
	// Query is the raw query, by which lists and watches are estimated.
	Query string
}

// watch reports whether the request is only controlled while it initializes.
func (r *Request) watch() bool { return r.Info.IsResourceRequest && r.Info.Verb == "watch" }

// mutating reports whether the request counts as a write.
func (r *Request) mutating() bool {
	switch r.Info.Verb {
	case "get", "list", "watch", "head", "options":
		return false
	}
	return true
}

// Rejection says why a request was not executed; the empty one means that it is.
type Rejection string

const (
	// QueueFull says that the flow's queues are as long as they may be.
	QueueFull Rejection = "queue-full"
	// ConcurrencyLimit says that the level has no free seats and does not queue.
	ConcurrencyLimit Rejection = "concurrency-limit"
	// TimeOut says that no seats came free in the time that the request could wait.
	TimeOut Rejection = "time-out"
	// Cancelled says that the client went away while its request waited.
	Cancelled Rejection = "cancelled"
)

var rejections = [...]Rejection{QueueFull, ConcurrencyLimit, TimeOut, Cancelled}

type phase uint8

const (
	classified phase = iota
	waiting
	executing
	lingering // ended, but its final seats are still taken
	gone
)

// Ticket is a request's place in its priority level. The zero value is ready for
// Classify.
type Ticket struct {
	request       Request
	schema        *schema
	level         *level
	distinguisher string
	hash          uint64
	width

	waited time.Duration // by Enter
	left   atomic.Bool

	// Below guarded by the level's mutex.
	phase            phase
	passed           bool // executes before wide ones that came earlier
	queue            *queue
	arrived, started time.Time
	wake             chan struct{} // of a request that has to wait; closed when it may execute
	before, after    *Ticket       // in the level's list of requests that execute
}

// narrow reports whether the request needs no more than one seat at any time.
func (t *Ticket) narrow() bool { return t.seats <= 1 && t.finalSeats <= 1 }

// work is the estimate of what the request costs, in seat-seconds.
func (t *Ticket) work() float64 {
	return guess*float64(t.seats) + t.extra.Seconds()*float64(t.finalSeats)
}

// FlowSchemaUID is the uid of the request's flow schema as the value of a header;
// nil while the schema is not stored.
func (t *Ticket) FlowSchemaUID() []string { return t.schema.uid }

// PriorityLevelUID is the uid of the request's priority level likewise.
func (t *Ticket) PriorityLevelUID() []string { return t.schema.levelUID }

// FlowSchema and PriorityLevel are the names of what the request was classified by.
func (t *Ticket) FlowSchema() string { return t.schema.name }

// PriorityLevel is the name of the level that lends the seats.
func (t *Ticket) PriorityLevel() string { return t.level.name }

// Account is how a request was handled.
type Account struct {
	Schema, Level     string
	Seats, FinalSeats int
	// Waited is how long it was in a queue; Started is when it began to execute, zero
	// where it did not.
	Waited  time.Duration
	Started time.Time
}

// Account returns how the request was handled so far; false where it has not been
// classified.
func (t *Ticket) Account() (Account, bool) {
	if t.schema == nil {
		return Account{}, false
	}
	t.level.mu.Lock()
	defer t.level.mu.Unlock()
	a := Account{Schema: t.schema.name, Level: t.level.name, Seats: t.seats, FinalSeats: t.finalSeats, Started: t.started}
	if !t.started.IsZero() {
		a.Waited = t.started.Sub(t.arrived)
	}
	return a, true
}

// Enter returns "" when the request may execute, which may be after it waited in
// a queue, at most for limit and as long as ctx lasts; else the reason why not.
// After "" the seats have to be given back by Leave.
func (t *Ticket) Enter(ctx context.Context, limit time.Duration) Rejection {
	l := t.level
	reason, waits := l.arrive(t)
	if !waits {
		return reason
	}
	begun := l.clock.Now()
	defer func() { t.waited = l.clock.Since(begun) }()
	timer := l.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.wake:
		return ""
	case <-timer.C():
		return l.giveUp(t, TimeOut)
	case <-ctx.Done():
		if context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // the standard library's own value
			return l.giveUp(t, TimeOut)
		}
		return l.giveUp(t, Cancelled)
	}
}

// Waited is how long Enter waited.
func (t *Ticket) Waited() time.Duration { return t.waited }

// Leave gives the seats back, once; those that the estimate says a write's
// watchers occupy are given back later.
func (t *Ticket) Leave() {
	if t.left.CompareAndSwap(false, true) {
		t.level.leave(t)
	}
}

// Forgo has Leave give all seats back at once: the request has written nothing that watchers could see.
func (t *Ticket) Forgo() {
	t.level.mu.Lock()
	defer t.level.mu.Unlock()
	t.extra = 0
}
