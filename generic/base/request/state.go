package request

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"triplane/generic/base/timeslice"
	"triplane/generic/base/user"
)

// State is a request's context and all that the filter chain found out about
// the request. The filters set its fields on the way in; behind the chain they
// are read-only.
//
// Its deadline is armed lazily: a request that never waits (a read from the
// cache) never calls Done and so never pays for a timer.
type State struct {
	parent context.Context

	Info *Info
	User *user.Info
	// AuditID names the request in logs, audit events and the Audit-Id header.
	AuditID string
	// Received is when the request reached the filter chain.
	Received time.Time
	// Audit is the request's audit record, of package audit; nil where the request is not audited.
	Audit Annotator
	// Deprecation is what clients of the requested kind are warned of; "" for most.
	Deprecation string
	// Warnings of the answer; the filter chain writes them as headers.
	Warnings Warnings

	// Server is the name of the server of the chain that was asked last, which is the
	// one that answers; "" where no server has been asked.
	Server string

	// OnServed, where set, is called by MarkServed.
	OnServed func()
	served   bool
	// Proxied says that the response is made by a pod, a service, a node or an external server.
	Proxied bool
	// Impersonated says that User is not who was authenticated.
	Impersonated bool
	// Kept is how many bytes of the response its handler keeps until they are written, where that
	// is more than what it writes at a time.
	Kept int32

	// Initialized, where set, is called when a watch has sent its initial events,
	// or has none to send: it gives back what it was lent for that.
	Initialized func()

	// Values, where set, has further values, as the span of a request that is traced.
	Values context.Context //nolint:containedctx // it lasts as long as the request

	// Timeslice schedules the request among those that use the processors for long.
	Timeslice timeslice.Task

	deadline time.Time

	spent [parts]atomic.Int64 // nanoseconds

	mu     sync.Mutex
	steps  []Step
	armed  context.Context
	cancel context.CancelFunc
}

// Init makes s a context below parent. Only the filter chain calls it, before
// anybody else knows of s.
func (s *State) Init(parent context.Context) { s.parent = parent }

// MarkServed notes that the request is authorized and for a resource that exists:
// of such requests alone metrics get labels. The handler of the resource calls it,
// in the request's goroutine.
func MarkServed(ctx context.Context) {
	s := StateFrom(ctx)
	if s == nil || s.served {
		return
	}
	s.served = true
	if s.OnServed != nil {
		s.OnServed()
	}
}

// MarkProxied notes that the response is somebody else's.
func MarkProxied(ctx context.Context) {
	if s := StateFrom(ctx); s != nil {
		s.Proxied = true
	}
}

// MarkServer notes which server of the chain has the request now.
func MarkServer(ctx context.Context, name string) {
	if s := StateFrom(ctx); s != nil {
		s.Server = name
	}
}

// Yield lets other requests go first where the one of ctx has worked for long. What
// may last longer than timeslice.Quantum calls it between pieces of its work.
func Yield(ctx context.Context) {
	if s := StateFrom(ctx); s != nil {
		s.Timeslice.Yield(s)
	}
}

// Keeps notes that the handler keeps so many bytes until the response is written.
func Keeps(ctx context.Context, bytes int) {
	if s := StateFrom(ctx); s != nil {
		s.Kept = int32(min(bytes, math.MaxInt32))
	}
}

// Served reports whether MarkServed was called.
func (s *State) Served() bool { return s.served }

// StateFrom returns the state of the request that ctx belongs to, nil where
// there is none.
func StateFrom(ctx context.Context) *State {
	s, _ := ctx.Value(stateKey).(*State)
	return s
}

// SetDeadline bounds the request. It must be called before the first Done.
func (s *State) SetDeadline(t time.Time) { s.deadline = t }

// Shorten brings the deadline forward. Who waits for Done of before waits for the former deadline.
func (s *State) Shorten(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deadline.IsZero() && !t.Before(s.deadline) {
		return
	}
	s.deadline = t
	if s.armed == nil {
		return
	}
	former := s.cancel
	ctx, cancel := context.WithDeadline(s.armed, t)
	s.armed, s.cancel = ctx, func() {
		cancel()
		former()
	}
}

// bound is the deadline, zero for none.
func (s *State) bound() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}

// Finish releases the timer, if one was armed, and the request's turn; contexts
// below end.
func (s *State) Finish() {
	s.Timeslice.End()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// Deadline implements context.Context.
func (s *State) Deadline() (time.Time, bool) {
	d, ok := s.parent.Deadline()
	own := s.bound()
	if own.IsZero() || (ok && d.Before(own)) {
		return d, ok
	}
	return own, true
}

// Done implements context.Context.
func (s *State) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		return s.parent.Done()
	}
	if s.armed == nil {
		s.armed, s.cancel = context.WithDeadline(s.parent, s.deadline)
	}
	return s.armed.Done()
}

// Err implements context.Context.
func (s *State) Err() error {
	s.mu.Lock()
	armed, deadline := s.armed, s.deadline
	s.mu.Unlock()
	if deadline.IsZero() {
		return s.parent.Err()
	}
	if armed != nil {
		return armed.Err()
	}
	if err := s.parent.Err(); err != nil {
		return err
	}
	if !time.Now().Before(deadline) {
		// A context that says it is over must have a closed Done.
		<-s.Done()
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (s *State) Value(k any) any {
	if own, ok := k.(key); ok {
		switch own {
		case stateKey:
			return s
		case infoKey:
			return s.Info
		case userKey:
			return s.User
		case warningKey:
			return &s.Warnings
		}
		return s.parent.Value(k)
	}
	if s.Values != nil {
		if v := s.Values.Value(k); v != nil && !isContext(v) {
			return v
		}
	}
	// Package context looks for its own cancellation behind a private key: it
	// must find the armed context's, or it starts a goroutine for each child.
	s.mu.Lock()
	armed := s.armed
	s.mu.Unlock()
	if armed != nil {
		return armed.Value(k)
	}
	return s.parent.Value(k)
}

// isContext reports whether a value is what package context looks for to find its own
// cancellation.
func isContext(v any) bool {
	_, ok := v.(context.Context)
	return ok
}

// Parent is the context that Init was given.
func (s *State) Parent() context.Context { return s.parent }
