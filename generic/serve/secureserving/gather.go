package secureserving

import (
	"context"
	"crypto/tls"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/internal/worker"
)

const (
	// gatherMax is how many bytes of a connection wait to be written: a TLS record.
	gatherMax = 16 << 10
	// lastWrite bounds the time to write the buffered bytes of a connection that is closed.
	lastWrite = time.Second
)

// gatherWrites makes HTTP/2 write to gathered connections, each with a frameScheduler. It must be called after
// http2.ConfigureServer.
func gatherWrites(s *http.Server, h2 *http2.Server, limit time.Duration, m *requestmetrics.Stalls, others *http1) {
	s.TLSNextProto[http2.NextProtoTLS] = func(s *http.Server, c *tls.Conn, h http.Handler) {
		others.release(c)
		ctx := context.Background()
		// net/http passes the connection's context to handlers of TLSNextProto in this way.
		if of, ok := h.(interface{ BaseContext() context.Context }); ok {
			ctx = of.BaseContext()
		}
		stalled := newStalledConnection(limit, m, func() { _ = c.Close() })
		own := *h2
		own.NewWriteScheduler = func() http2.WriteScheduler { return newFrameScheduler(stalled) }
		ctx = filters.WithConnection(ctx, stalled)
		own.ServeConn(gather(c), &http2.ServeConnOpts{Context: ctx, Handler: &direct{others.handler, h},
			BaseConfig: s})
	}
}

// direct serves requests without the handlers of net/http, whose frames would be a fifth of the stack of an idle watch.
type direct struct {
	handler http.Handler
	// unusual completes requests without TLS state (of the scheme http), and serves those of "*".
	unusual http.Handler
}

// ServeHTTP implements http.Handler.
func (d *direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil || r.RequestURI == "*" {
		d.unusual.ServeHTTP(w, r)
		return
	}
	d.handler.ServeHTTP(w, r)
}

// gathered is a connection that buffers small writes and writes them together, after other goroutines have run.
// Otherwise an event that reaches many watches of a connection costs each a TLS record and a system call.
//
// The end of a response is written at once, with all buffered bytes: under load the delay would be milliseconds.
// If the client reads nothing, gatherMax bytes are buffered, and further writes block.
//
// All methods are safe for concurrent use; bytes are written in the order of the writes. If a buffered write
// fails, later writes fail and the connection is closed.
type gathered struct {
	*tls.Conn
	later func() // flushLater; a stored method value saves allocations

	out sync.Mutex // held while writing to Conn; locked before mu

	mu      sync.Mutex // guards the fields below
	waiting *[]byte    // from gatherBuffers; nil if nothing is buffered
	due     bool       // a goroutine is going to flush
	frames  frames     // of the written bytes
	err     error
}

// gatherBuffers are used by connections while they buffer bytes.
var gatherBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, gatherMax)
	return &b
}}

func gather(c *tls.Conn) *gathered {
	_ = c.SetWriteDeadline(time.Time{}) // resets net/http's deadline of the handshake
	g := &gathered{Conn: c}
	g.later = g.flushLater
	return g
}

// Write implements net.Conn.
func (c *gathered) Write(p []byte) (int, error) {
	kept, flush, err := c.keep(p)
	switch {
	case err != nil:
		return 0, err
	case flush:
		worker.Go(c.later)
	case !kept:
		c.out.Lock()
		defer c.out.Unlock()
		if err := c.flush(p, stalledWrite); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// keep buffers p, if it may be delayed and there is room. It reports whether the caller must start a flush.
func (c *gathered) keep(p []byte) (kept, flush bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false, false, c.err
	}
	ends := c.frames.follow(p)
	before := 0
	if c.waiting != nil {
		before = len(*c.waiting)
	}
	if ends || before+len(p) > gatherMax {
		return false, false, nil
	}
	if c.waiting == nil {
		c.waiting = gatherBuffers.Get().(*[]byte)
	}
	*c.waiting = append(*c.waiting, p...)
	flush, c.due = !c.due, true
	return true, flush, nil
}

// flushLater flushes after the runnable goroutines have run.
func (c *gathered) flushLater() {
	runtime.Gosched()
	c.out.Lock()
	defer c.out.Unlock()
	c.mu.Lock()
	c.due = false
	c.mu.Unlock()
	if c.flush(nil, stalledWrite) != nil {
		_ = c.Conn.Close() // HTTP/2 notices by its next read
	}
}

// flush writes the buffered bytes, and then p. It fails if the client reads nothing for limit. The caller holds
// out.
func (c *gathered) flush(p []byte, limit time.Duration) error {
	c.mu.Lock()
	waiting, err := c.waiting, c.err
	c.waiting = nil
	c.mu.Unlock()
	if waiting != nil {
		if len(*waiting)+len(p) <= gatherMax {
			*waiting, p = append(*waiting, p...), nil
		}
		if err == nil {
			err = c.send(*waiting, limit)
		}
		*waiting = (*waiting)[:0]
		gatherBuffers.Put(waiting)
	}
	if err == nil && len(p) > 0 {
		err = c.send(p, limit)
	}
	return err
}

func (c *gathered) send(p []byte, limit time.Duration) error {
	_ = c.Conn.SetWriteDeadline(time.Now().Add(limit))
	_, err := c.Conn.Write(p)
	// TLS writes by itself, too, for example for key updates.
	_ = c.Conn.SetWriteDeadline(time.Time{})
	if err != nil {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
	}
	return err
}

// SetWriteDeadline implements net.Conn. It does nothing: flush sets the deadline of each write.
func (c *gathered) SetWriteDeadline(time.Time) error { return nil }

// Close implements net.Conn. It writes the buffered bytes, unless a write is blocked.
func (c *gathered) Close() error {
	if c.out.TryLock() {
		_ = c.flush(nil, lastWrite) // the error cannot be reported
		c.out.Unlock()
	}
	return c.Conn.Close()
}

// frames tracks HTTP/2 frames across the writes of a connection. A frame may end within a write.
type frames struct {
	header [9]byte
	have   int  // bytes of the header received so far
	left   int  // remaining bytes of the payload
	last   bool // the frame ends its stream
}

// follow processes the next written bytes, and reports whether they contain the end of a response.
func (f *frames) follow(p []byte) (ends bool) {
	for len(p) > 0 {
		if f.have < len(f.header) {
			n := copy(f.header[f.have:], p)
			f.have, p = f.have+n, p[n:]
			if f.have < len(f.header) {
				break
			}
			f.left = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
			kind, flags := http2.FrameType(f.header[3]), http2.Flags(f.header[4])
			f.last = kind == http2.FrameData && flags.Has(http2.FlagDataEndStream) ||
				kind == http2.FrameHeaders && flags.Has(http2.FlagHeadersEndStream)
		}
		n := min(f.left, len(p))
		f.left, p = f.left-n, p[n:]
		if f.left == 0 {
			f.have, ends = 0, ends || f.last
		}
	}
	return ends
}
