package request

import (
	"context"
	"math"
	"sync"
	"time"

	"triplane.dev/generic/base/timeslice"
	"triplane.dev/generic/base/user"
)

// State is a request's context with everything that the filter chain knows about the request. The filters set
// its fields; behind the chain they are read-only.
//
// The timer of its deadline starts on the first call of Done. A request that never blocks, such as a read from
// the cache, has no timer.
type State struct {
	parent context.Context

	Info *Info
	User *user.Info
	// Workspace is the name of the workspace of a request below /workspaces/NAME/, whose path Info has without that
	// prefix; "" outside workspaces.
	Workspace string
	// AuditIDs has the request's ID, see AuditID. As an array it is the value of a header.
	AuditIDs [1]string
	// Received is when the filter chain received the request.
	Received time.Time
	// Audit is the request's audit record, of package audit; nil if the request is not audited.
	Audit Annotator
	// Deprecation is the deprecation warning for the requested kind, or "".
	Deprecation string
	// Warnings are the warnings of the response. The filter chain writes them as headers.
	Warnings Warnings

	// Server is the name of the last server of the chain that handled the request, which is the one that
	// responds. It is "" if no server has handled it.
	Server string

	// OnServed, if set, is called by MarkServed.
	OnServed func()
	served   bool
	// Proxied is set if a pod, service, node or external server responds.
	Proxied bool
	// CBOR is set if errors are sent as CBOR to clients that accept it.
	CBOR bool
	// Impersonated is set if User is an impersonated user.
	Impersonated bool
	// Kept is how many bytes of the response the handler holds in memory until they are written, if that is
	// more than one write.
	Kept int32

	// Seats are those that the request holds while it executes; nil outside the filter chain.
	Seats Seats

	// Values, if set, has further values, such as the span of a traced request.
	Values context.Context //nolint:containedctx // it lasts as long as the request

	// Timeslice schedules the request if it uses the processors for long.
	Timeslice timeslice.Task

	// Continuation is set by the filter chain if the request may continue after its handler, see Continue.
	Continuation *Continuation

	latency

	mu sync.Mutex
	bounds
}

// bounds is what ends a request before its parent context: a deadline, and Cancel. The context with their timer and
// channel is created at the first wait for it.
type bounds struct {
	deadline time.Time
	armed    context.Context
	cancel   context.CancelFunc // not nil if the request is cancellable, or armed
}

// AuditID returns the request's ID in logs, audit events and the header Audit-Id.
func (s *State) AuditID() string { return s.AuditIDs[0] }

// Init sets the parent context. Only the filter chain calls it, before it passes s on.
func (s *State) Init(parent context.Context) { s.parent = parent }

// MarkServed records that the request is authorized and its resource exists. Only such requests have labels in
// metrics. The resource's handler calls it in the request's goroutine.
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

// MarkProxied records that another server responds.
func MarkProxied(ctx context.Context) {
	if s := StateFrom(ctx); s != nil {
		s.Proxied = true
	}
}

// MarkServer records the server of the chain that handles the request.
func MarkServer(ctx context.Context, name string) {
	if s := StateFrom(ctx); s != nil {
		s.Server = name
	}
}

// Yield lets other goroutines run if the request has used a processor for longer than timeslice.Quantum. Long
// work must call it regularly.
func Yield(ctx context.Context) {
	if s := StateFrom(ctx); s != nil {
		s.Timeslice.Yield(s)
	}
}

// Keeps sets how many bytes the handler holds in memory until the response is written.
func Keeps(ctx context.Context, bytes int) {
	if s := StateFrom(ctx); s != nil {
		s.Kept = int32(min(bytes, math.MaxInt32))
	}
}

// Served reports whether MarkServed was called.
func (s *State) Served() bool { return s.served }

// StateFrom returns the state of the request that ctx belongs to, or nil.
func StateFrom(ctx context.Context) *State {
	s, _ := ctx.Value(stateKey).(*State)
	return s
}

// SetDeadline sets the deadline. It must be called before the first call of Done.
func (s *State) SetDeadline(t time.Time) { s.deadline = t }

// Shorten brings the deadline forward. Channels that Done returned before still close at the former deadline.
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

// bound returns the deadline, which is zero if there is none.
func (s *State) bound() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}

// Finish stops the timer, releases the request's timeslice, and cancels derived contexts.
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
	if s.deadline.IsZero() && s.cancel == nil {
		return s.parent.Done()
	}
	if s.armed == nil {
		s.arm()
	}
	return s.armed.Done()
}

// arm creates the context of the bounds. The caller holds the mutex.
func (s *State) arm() {
	if s.deadline.IsZero() {
		s.armed, s.cancel = context.WithCancel(s.parent)
	} else {
		s.armed, s.cancel = context.WithDeadline(s.parent, s.deadline)
	}
}

// Cancellable permits Cancel. It must be called before the first call of Done.
func (s *State) Cancellable() { s.cancel = func() {} }

// Cancel cancels the request, and wakes its continuation. It is safe for concurrent use.
func (s *State) Cancel() {
	s.mu.Lock()
	if s.armed == nil {
		s.arm()
	}
	s.cancel()
	s.mu.Unlock()
	if s.Continuation != nil {
		s.Continuation.Wake()
	}
}

// Err implements context.Context.
func (s *State) Err() error {
	s.mu.Lock()
	armed, deadline := s.armed, s.deadline
	s.mu.Unlock()
	if armed != nil {
		if err := armed.Err(); err != nil {
			return err
		}
	}
	if err := s.parent.Err(); err != nil {
		return err
	}
	// A continuation that resumes at the deadline may be earlier than the timer of the armed context.
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		// context.Context requires that Done is closed if Err is not nil.
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
	// Package context looks up its own cancellation with a private key. It must find the armed context, or it
	// starts a goroutine for each derived context.
	s.mu.Lock()
	armed := s.armed
	s.mu.Unlock()
	if armed != nil {
		return armed.Value(k)
	}
	return s.parent.Value(k)
}

// isContext reports whether a value is the one that package context looks up to find its own cancellation.
func isContext(v any) bool {
	_, ok := v.(context.Context)
	return ok
}

// Parent returns the context that was passed to Init.
func (s *State) Parent() context.Context { return s.parent }
