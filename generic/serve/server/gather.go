package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"triplane/generic/base/metrics"
	"triplane/generic/serve/filters"
	"triplane/internal/worker"
)

const (
	// gatherMax is how many bytes of a connection wait to be written: a TLS record.
	gatherMax = 16 << 10
	// lastWrite is how long a connection that is closed may take for what waits.
	lastWrite = time.Second
)

// gatherWrites has HTTP/2 write to gathered connections, each with a frameScheduler. It is
// called after http2.ConfigureServer. begun is called with each connection that speaks HTTP/2.
func gatherWrites(s *http.Server, h2 *http2.Server, limit time.Duration, m *metrics.Stalls, begun func(net.Conn)) {
	s.TLSNextProto[http2.NextProtoTLS] = func(s *http.Server, c *tls.Conn, h http.Handler) {
		begun(c)
		ctx := context.Background()
		// net/http passes the connection's context in this way, to whoever serves a protocol.
		if of, ok := h.(interface{ BaseContext() context.Context }); ok {
			ctx = of.BaseContext()
		}
		stalled := newStalledConnection(limit, m, func() { _ = c.Close() })
		own := *h2
		own.NewWriteScheduler = func() http2.WriteScheduler { return newFrameScheduler(stalled) }
		ctx = filters.WithConnection(ctx, stalled)
		own.ServeConn(gather(c), &http2.ServeConnOpts{Context: ctx, Handler: h, BaseConfig: s})
	}
}

// gathered is a connection whose small writes return at once and go out together,
// when others have had their turn: an event reaches many watches of a connection,
// and each would have a TLS record and a system call of its own. The end of an answer
// goes out at once, with what waits: its client would wait for all others' turns, which
// are milliseconds each where the processors are busy. While a client takes nothing,
// gatherMax bytes wait, and further writes with them.
//
// It is safe for concurrent use; bytes go out in the order of the writes. A write that fails
// after it has returned fails those behind it and closes the connection.
type gathered struct {
	*tls.Conn
	later func() // flushLater; a method value is an allocation

	out sync.Mutex // held while writing to Conn; locked before mu

	mu      sync.Mutex // guards what follows
	waiting *[]byte    // from gatherBuffers; nil if nothing waits
	due     bool       // a goroutine is going to flush
	frames  frames     // of what was written
	err     error
}

// gatherBuffers are lent to connections while something waits.
var gatherBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, gatherMax)
	return &b
}}

func gather(c *tls.Conn) *gathered {
	_ = c.SetWriteDeadline(time.Time{}) // net/http's, of the handshake
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

// keep puts p behind what waits, if it may wait and there is room, and reports whether
// somebody has to be found who flushes it.
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

// flushLater flushes when the goroutines that are ready have had their turn.
func (c *gathered) flushLater() {
	runtime.Gosched()
	c.out.Lock()
	defer c.out.Unlock()
	c.mu.Lock()
	c.due = false
	c.mu.Unlock()
	if c.flush(nil, stalledWrite) != nil {
		_ = c.Conn.Close() // HTTP/2 learns of it by its next read
	}
}

// flush writes what waits, and then p. A client that takes nothing for limit has lost
// the connection. The caller holds out.
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
	// TLS writes by itself, too, as when a client wants new keys.
	_ = c.Conn.SetWriteDeadline(time.Time{})
	if err != nil {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
	}
	return err
}

// SetWriteDeadline implements net.Conn. It does nothing: a write has its deadline when it
// goes out.
func (c *gathered) SetWriteDeadline(time.Time) error { return nil }

// Close implements net.Conn. What waits is written, unless the client takes nothing.
func (c *gathered) Close() error {
	if c.out.TryLock() {
		_ = c.flush(nil, lastWrite) // there is nobody to report it to
		c.out.Unlock()
	}
	return c.Conn.Close()
}

// frames follows the frames of HTTP/2 through the writes of a connection, which may end
// within one.
type frames struct {
	header [9]byte
	have   int  // bytes of the header that are known
	left   int  // bytes of the payload that are to come
	last   bool // the frame is the last one of its stream
}

// follow takes what is written next, and reports whether an answer ends in it.
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
