package request

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// Continuation is the part of a request that runs after its handler and the filters have returned. A watch waits for
// events most of the time: it has no goroutine then, whose stack would be most of its memory. The methods are not safe
// for concurrent use, apart from Wake.
type Continuation struct {
	resume func() (over bool)
	ends   []func(cause any)
	wake   atomic.Pointer[func()]
}

// host is an http.ResponseWriter whose response may last longer than its handler, as that of package http2. It also
// calls resume when the client has ended the request.
type host interface {
	Detach(resume func() (over bool), end func(cause any)) (wake func())
}

// Continue makes resume the continuation of the request that ctx belongs to, and reports whether the filter chain
// supports that. The handler must then return without using the response. resume is called after that, and again after
// each Wake and when the request's context is done, never twice at the same time. When it reports that the request is
// over, which it must if the context is done, the request ends.
func Continue(ctx context.Context, resume func() (over bool)) (*Continuation, bool) {
	s := StateFrom(ctx)
	if s == nil || s.Continuation == nil {
		return nil, false
	}
	s.Continuation.resume = resume
	return s.Continuation, true
}

// Wake makes the continuation resume. It does not block.
func (c *Continuation) Wake() {
	if wake := c.wake.Load(); wake != nil {
		(*wake)()
	}
}

// Continues reports whether the handler has left a continuation.
func (s *State) Continues() bool { return s.Continuation != nil && s.Continuation.resume != nil }

// AtEnd is deferred by filters and handlers of requests that may continue: it calls end when the request has ended.
// Without a continuation that is now. The cause is that of a panic of the continuation, or nil.
func (s *State) AtEnd(end func(cause any)) {
	if !s.Continues() {
		end(nil)
		return
	}
	s.Continuation.ends = append(s.Continuation.ends, end)
}

// RunContinuation runs the continuation, and then the functions of AtEnd, inner filters first. If w supports that, the
// server of w does so after the handler has returned, and RunContinuation returns at once. It recovers from a panic of
// the continuation, which is the cause that AtEnd's functions receive.
func (s *State) RunContinuation(w http.ResponseWriter) {
	c := s.Continuation
	if h, ok := w.(host); ok {
		s.detach(h)
		return
	}
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	c.wake.Store(&wake)
	defer func() { c.end(recover()) }()
	for !c.resume() {
		select {
		case <-woken:
		case <-s.Done():
		}
	}
}

// detach passes the continuation to its host. It also resumes at the deadline.
func (s *State) detach(h host) {
	c := s.Continuation
	wake := h.Detach(c.resume, c.end)
	c.wake.Store(&wake)
	if deadline := s.bound(); !deadline.IsZero() {
		timer := time.AfterFunc(time.Until(deadline), wake)
		s.AtEnd(func(any) { timer.Stop() })
	}
}

// end calls all functions of AtEnd, even if one of them panics.
func (c *Continuation) end(cause any) {
	for i := len(c.ends) - 1; i >= 0; i-- {
		defer c.ends[i](cause)
	}
}
