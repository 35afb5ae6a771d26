package request

import "context"

// Continuation is the part of a request that runs after its handler and the filters have returned. A watch waits for
// events most of the time: with the frames of all filters its goroutine would have a stack of 16 KiB instead of 4. It
// is not safe for concurrent use.
type Continuation struct {
	run  func()
	ends []func(cause any)
}

// Continue makes run the continuation of the request that ctx belongs to, and reports whether the filter chain supports
// that. The handler must then return without using the response. It must not wait for run before it returns.
func Continue(ctx context.Context, run func()) bool {
	s := StateFrom(ctx)
	if s == nil || s.Continuation == nil {
		return false
	}
	s.Continuation.run = run
	return true
}

// Continues reports whether the handler has left a continuation.
func (s *State) Continues() bool { return s.Continuation != nil && s.Continuation.run != nil }

// AtEnd is deferred by filters and handlers of requests that may continue: it calls end when the request has ended.
// Without a continuation that is now. The cause is that of a panic of the continuation, or nil.
func (s *State) AtEnd(end func(cause any)) {
	if !s.Continues() {
		end(nil)
		return
	}
	s.Continuation.ends = append(s.Continuation.ends, end)
}

// RunContinuation runs the continuation, if there is one, and then the functions of AtEnd, inner filters first.
// It recovers from a panic of the continuation, which is the cause that AtEnd's functions receive.
func (s *State) RunContinuation() {
	if s.Continues() {
		defer s.Continuation.end()
		s.Continuation.run()
	}
}

// end is deferred.
func (c *Continuation) end() {
	cause := recover()
	for _, end := range c.ends {
		end(cause)
	}
}
