package http2

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	frame "golang.org/x/net/http2"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// stream is a request with its response. The mutex of its connection guards it, except for what only the handler's
// goroutine uses.
type stream struct {
	c       *Connection
	id      uint32
	changed sync.Cond // signals changes to what await is called for
	err     error     // why the stream has ended before its response
	window  int32     // the client's, for the response
	progress
	body    body
	readBy  time.Time // deadlines; zero means none
	writeBy time.Time
	streamContext
	request  *http.Request
	response response
	rest     *continuation // nil unless the response lasts longer than its handler
}

// progress is that of a response.
type progress struct {
	waits    bool // for a turn
	sends    bool // data, for which it waits
	flushing bool // its goroutine writes to the client
	begun    bool // the header is sent
	stalls   bool // it has waited for the client's windows during a write
	sent     bool // the response has ended
	started  bool // its handler
}

// streamContext is the context of a request. Most requests never wait, so its channel is created on demand.
type streamContext struct {
	armed  context.Context //nolint:containedctx // it lasts as long as the request
	cancel context.CancelFunc
	over   error
}

// requestContext makes a stream the context of its request.
type requestContext stream

// Deadline implements context.Context.
func (s *requestContext) Deadline() (time.Time, bool) { return s.c.base.Deadline() }

// Done implements context.Context.
func (s *requestContext) Done() <-chan struct{} {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.armed == nil {
		s.armed, s.cancel = context.WithCancel(s.c.base)
		if s.over != nil {
			s.cancel()
		}
	}
	return s.armed.Done()
}

// Err implements context.Context.
func (s *requestContext) Err() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	return s.c.base.Err()
}

// Value implements context.Context.
func (s *requestContext) Value(key any) any {
	s.c.mu.Lock()
	armed := s.armed
	s.c.mu.Unlock()
	if armed != nil {
		return armed.Value(key) // package context finds its own cancellation
	}
	return s.c.base.Value(key)
}

// end cancels the context.
func (x *streamContext) end() {
	if x.over != nil {
		return
	}
	x.over = context.Canceled
	if x.cancel != nil {
		x.cancel()
	}
}

// await waits until something has changed, or until a deadline. client says that it waits for the client's windows.
func (s *stream) await(by time.Time, client bool) {
	if !by.IsZero() {
		timer := time.AfterFunc(time.Until(by), func() {
			s.c.mu.Lock()
			defer s.c.mu.Unlock()
			s.changed.Broadcast()
		})
		defer timer.Stop()
	}
	if client && !s.stalls {
		s.stalls = true
		s.c.stall.wait()
	}
	s.changed.Wait()
}

// writable returns why the response cannot be written. A response whose deadline has passed ends its stream.
func (s *stream) writable() error {
	if s.err == nil && !s.writeBy.IsZero() && !time.Now().Before(s.writeBy) {
		s.reset(frame.ErrCodeInternal, os.ErrDeadlineExceeded)
	}
	return s.err
}

// fail ends a stream with an error, and removes it from its connection.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.body.fail(s.err)
	s.end()
	s.changed.Broadcast()
	if s.rest != nil {
		s.resumeSoon()
	}
	if !s.started { // the stream may stay in the queue
		s.request = nil
		s.c.returnWindow(s.body.discard(), nil)
	}
	s.leave()
}

// reset ends a stream, and informs the client.
func (s *stream) reset(code frame.ErrCode, err error) {
	c := s.c
	if c.streams[s.id] == s && !c.closed {
		c.out.resetStream(s.id, code)
		c.reset.add(s.id)
		c.flushSoon()
	}
	s.fail(err)
}

// leave removes a stream from the open ones of its connection.
func (s *stream) leave() {
	c := s.c
	if c.streams[s.id] != s {
		return
	}
	if !c.closed { // close visits them all
		delete(c.streams, s.id)
	}
	if len(c.streams) == 0 {
		c.since = time.Now()
		c.closeLater()
	}
}

// start runs the handler of a stream, now or when another one has returned. The caller holds the mutex.
func (c *Connection) start(s *stream) error {
	if c.running < c.server.MaxStreams {
		c.run(s)
		return nil
	}
	if len(c.queued) >= maxQueued*c.server.MaxStreams {
		return frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)
	}
	c.queued = append(c.queued, s)
	return nil
}

// next starts the handlers of requests that have waited. The caller holds the mutex.
func (c *Connection) next() {
	for len(c.queued) > 0 && c.running < c.server.MaxStreams {
		s := c.queued[0]
		c.queued[0] = nil
		c.queued = c.queued[1:]
		if s.err == nil {
			c.run(s)
		}
	}
}

// run runs the handler of a stream in a goroutine. The caller holds the mutex.
func (c *Connection) run(s *stream) {
	c.running++
	s.started = true
	if c.parked {
		c.parked = false
		c.spare <- s
		return
	}
	worker.Go(func() {
		for ; s != nil; s = c.park() {
			s.run()
		}
	})
}

// park waits for the next stream whose handler is to be run. It returns nil if another goroutine waits already, and
// when the connection is closed.
func (c *Connection) park() *stream {
	c.mu.Lock()
	if c.parked || c.closed {
		c.mu.Unlock()
		return nil
	}
	c.parked = true
	c.mu.Unlock()
	return <-c.spare
}

// run runs the handler in the stream's goroutine.
func (s *stream) run() {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit
			s.complete(http.ErrAbortHandler)
		}
	}()
	cause := try(func() { s.c.handler.ServeHTTP(&s.response, s.request) })
	returned = true
	switch {
	case s.rest == nil:
		s.complete(cause)
	case cause == nil:
		s.resume()
	default:
		s.complete(try(func() { s.rest.end(cause) }))
	}
}

// try returns the cause of a panic of f, or nil.
func try(f func()) (cause any) {
	defer func() { cause = recover() }()
	f()
	return nil
}

// complete ends a stream whose handler has returned or panicked.
func (s *stream) complete(cause any) {
	if cause == nil {
		cause = try(s.response.finish)
	}
	if cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // panics have values
		klog.ErrorS(nil, "Recovered from a panic of a handler", "client", s.request.RemoteAddr, "panic", cause)
	}
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	s.returned(cause != nil)
	c.running--
	c.next()
	c.all.Signal()
}

// returned ends a stream whose handler has returned. The caller holds the mutex.
func (s *stream) returned(panicked bool) {
	switch {
	case s.err != nil:
	case panicked || !s.sent:
		s.reset(frame.ErrCodeInternal, errReturned)
	case !s.body.ended:
		// The client may stop sending the body (RFC 9113, section 8.1).
		s.reset(frame.ErrCodeNo, errReturned)
	}
	s.c.returnWindow(s.body.discard(), nil)
	s.end()
	s.leave()
	if s.c.out.granted == s {
		s.pass()
	}
}

// errReturned is the error of writes and reads after the handler has returned.
var errReturned = errors.New("http2: the handler has returned")
