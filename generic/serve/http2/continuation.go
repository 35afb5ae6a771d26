package http2

import (
	"net/http"

	"triplane.dev/internal/worker"
)

// continuation is the rest of a response that lasts longer than its handler. The mutex of the connection guards the
// flags.
type continuation struct {
	resume  func() (over bool)
	end     func(cause any)
	running bool // a goroutine runs resume, or is about to
	again   bool // wake was called during that
}

// Detach makes the response last longer than its handler, which must return without using it further. Then, and after
// each call of wake, a goroutine calls resume, which may use the response; two never run at the same time. Between them
// the response has no goroutine. resume is also called when the client has ended the request. The response ends when
// resume reports that it is over, or panics: end is called with the cause of the panic, or nil. wake is safe for
// concurrent use and does not block.
func (w *response) Detach(resume func() (over bool), end func(cause any)) (wake func()) {
	c := w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	w.s.rest = &continuation{resume: resume, end: end, running: true}
	if w.status != 0 && w.fields == nil && w.small == nil {
		w.header = nil // it is sent
	}
	return w.s.wake
}

// wake makes the continuation of a stream resume.
func (s *stream) wake() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.resumeSoon()
}

// resumeSoon is wake for callers that hold the mutex.
func (s *stream) resumeSoon() {
	if s.rest.running {
		s.rest.again = true
		return
	}
	s.rest.running = true
	worker.Go(s.resume)
}

// resume runs the continuation of a stream until it waits.
func (s *stream) resume() {
	r, returned := s.rest, false
	defer func() {
		if !returned { // runtime.Goexit
			_ = try(func() { r.end(nil) }) // the stream is reset in any case
			s.complete(http.ErrAbortHandler)
		}
	}()
	for {
		over := false
		cause := try(func() { over = r.resume() })
		if over || cause != nil {
			returned = true
			s.complete(try(func() { r.end(cause) }))
			return
		}
		s.c.mu.Lock()
		if r.running = r.again; !r.running {
			returned = true
			s.c.mu.Unlock()
			return
		}
		r.again = false
		s.c.mu.Unlock()
	}
}
