package flowcontrol

import (
	"context"
	"sync/atomic"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// Request is the input of flow control.
type Request struct {
	User *user.Info
	Info *request.Info
	// Query is the raw query. The estimates for lists and watches depend on it.
	Query string
}

// watch reports whether the request occupies seats only during its initialization.
func (r *Request) watch() bool { return r.Info.IsResourceRequest && r.Info.Verb == "watch" }

// mutating reports whether the request counts as a write.
func (r *Request) mutating() bool {
	switch r.Info.Verb {
	case "get", "list", "watch", "head", "options":
		return false
	}
	return true
}

// Rejection is the reason why a request must not execute. "" means that it may.
type Rejection string

const (
	// QueueFull means that the flow's queues are full.
	QueueFull Rejection = "queue-full"
	// ConcurrencyLimit means that the level has no free seats and does not queue requests.
	ConcurrencyLimit Rejection = "concurrency-limit"
	// TimeOut means that no seats were free within the time that the request may wait.
	TimeOut Rejection = "time-out"
	// Cancelled means that the client disconnected while the request waited.
	Cancelled Rejection = "cancelled"
)

var rejections = [...]Rejection{QueueFull, ConcurrencyLimit, TimeOut, Cancelled}

type phase uint8

const (
	classified phase = iota
	waiting
	executing
	lingering // ended, but still occupies finalSeats
	done
)

// Ticket is the state of a request in its priority level. The zero Ticket is ready for Classify.
type Ticket struct {
	request       Request
	schema        *schema
	level         *level
	distinguisher string
	hash          uint64
	width

	waited time.Duration // in Enter
	left   atomic.Bool

	// The level's mutex guards the following fields.
	phase            phase
	passed           bool // has passed a wide request that arrived earlier
	queue            *queue
	arrived, started time.Time
	wake             chan struct{} // closed when a waiting request may execute
	before, after    *Ticket       // neighbours in the level's list of executing requests
}

// narrow reports whether the request never needs more than one seat.
func (t *Ticket) narrow() bool { return t.seats <= 1 && t.finalSeats <= 1 }

// work is the estimated work of the request in seat-seconds.
func (t *Ticket) work() float64 {
	return estimatedSeconds*float64(t.seats) + t.extra.Seconds()*float64(t.finalSeats)
}

// FlowSchemaUID returns the uid of the request's flow schema as a header value, or nil if the schema is not
// stored.
func (t *Ticket) FlowSchemaUID() []string { return t.schema.uid }

// PriorityLevelUID returns the uid of the request's priority level as a header value, or nil if the level is
// not stored.
func (t *Ticket) PriorityLevelUID() []string { return t.schema.levelUID }

// FlowSchema returns the name of the request's flow schema.
func (t *Ticket) FlowSchema() string { return t.schema.name }

// PriorityLevel returns the name of the request's priority level.
func (t *Ticket) PriorityLevel() string { return t.level.name }

// Account describes how a request was handled.
type Account struct {
	Schema, Level     string
	Seats, FinalSeats int
	// Waited is the time in the queue. Started is the start of the execution; it is zero if the request has not
	// executed.
	Waited  time.Duration
	Started time.Time
}

// Account returns how the request was handled so far, and false before Classify.
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

// Enter returns "" when the request may execute, and the rejection otherwise. It waits in a queue for at most
// limit, and until ctx ends. After "" Leave must be called.
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
		if context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // returned unwrapped by package context
			return l.giveUp(t, TimeOut)
		}
		return l.giveUp(t, Cancelled)
	}
}

// Waited returns how long Enter waited.
func (t *Ticket) Waited() time.Duration { return t.waited }

// Leave releases the seats; further calls do nothing. Seats for the delivery of events are released after their
// estimated duration.
func (t *Ticket) Leave() {
	if t.left.CompareAndSwap(false, true) {
		t.level.leave(t)
	}
}

// Forgo makes Leave release all seats at once, because the request has not written anything.
func (t *Ticket) Forgo() {
	t.level.mu.Lock()
	defer t.level.mu.Unlock()
	t.extra = 0
}
