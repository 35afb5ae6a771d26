package http2

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// body is the part of a request's body that has arrived and was not read. The mutex of the connection guards it.
type body struct {
	credit   credit
	data     []byte
	at       int   // of data, what is read next
	err      error // after data; nil while more may come
	declared int64 // bytes to come, as the header says; -1 if it does not
	trailers http.Header
	ended    bool // the client has sent all
	expects  bool // the client waits for 100 Continue
	closed   bool
}

// add appends bytes that have arrived. What was read is dropped when it is half of the data.
func (b *body) add(p []byte) {
	if b.at >= len(b.data)/2 {
		n := copy(b.data, b.data[b.at:])
		b.data, b.at = b.data[:n], 0
	}
	b.data = append(b.data, p...)
}

// finish records that all has arrived.
func (b *body) finish() {
	b.ended = true
	b.fail(io.EOF)
}

// fail makes reads return an error after what has arrived.
func (b *body) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// discard drops what was not read, and returns its size.
func (b *body) discard() int {
	n := len(b.data) - b.at
	b.data, b.at, b.closed = nil, 0, true
	return n
}

// requestBody is the reader of a body. Its methods are safe for concurrent use.
type requestBody struct{ s *stream }

// errBodyClosed is the error of reads after Close.
var errBodyClosed = http.ErrBodyReadAfterClose

// Read implements io.Reader.
func (r requestBody) Read(p []byte) (int, error) {
	s := r.s
	c, b := s.c, &s.body
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch n := copy(p, b.data[b.at:]); {
		case b.closed:
			return 0, errBodyClosed
		case n > 0:
			b.at += n
			if !b.ended && s.err == nil {
				c.returnWindow(n, s)
			} else {
				c.returnWindow(n, nil)
			}
			if b.at == len(b.data) && errors.Is(b.err, io.EOF) {
				return n, s.eof()
			}
			return n, nil
		case errors.Is(b.err, io.EOF):
			return 0, s.eof()
		case b.err != nil:
			return 0, b.err
		case len(p) == 0:
			return 0, nil
		case !s.readBy.IsZero() && !time.Now().Before(s.readBy):
			b.fail(os.ErrDeadlineExceeded)
			continue
		case b.expects:
			b.expects = false
			s.response.informs(http.StatusContinue, nil)
			continue
		}
		s.await(s.readBy, false)
	}
}

// eof returns the end of a body, after which the trailers are in the request.
func (s *stream) eof() error {
	for name, values := range s.body.trailers {
		if _, announced := s.request.Trailer[name]; announced {
			s.request.Trailer[name] = values
		}
	}
	s.body.trailers = nil
	return io.EOF
}

// Close implements io.Closer.
func (r requestBody) Close() error {
	c := r.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returnWindow(r.s.body.discard(), nil)
	r.s.changed.Broadcast()
	return nil
}

// returnWindow lets the client send as many bytes as were read or dropped, on the connection and, if there is one, on
// the stream. The caller holds the mutex.
func (c *Connection) returnWindow(n int, s *stream) {
	if c.closed || n == 0 {
		return
	}
	if w := c.received.give(int32(n)); w > 0 {
		c.out.windowUpdate(0, uint32(w))
		c.flushSoon()
	}
	if s == nil {
		return
	}
	if w := s.body.credit.give(int32(n)); w > 0 {
		c.out.windowUpdate(s.id, uint32(w))
		c.flushSoon()
	}
}
