package http2

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	frame "golang.org/x/net/http2"

	"triplane.dev/internal/worker"
)

const (
	// linger is how long a connection that has ended stays open if its client does not say that it has received why.
	linger = time.Second
	// maxQueued bounds the requests that wait for handlers of requests which their client has reset, as a multiple of
	// MaxStreams.
	maxQueued = 4
	// resetKept is the size of recent.
	resetKept = 128
)

var (
	// errClosed is the error of writes and reads of a connection that is closed.
	errClosed = errors.New("http2: the connection is closed")
	// errReset is that of a stream which the client has reset.
	errReset = errors.New("http2: the client has reset the stream")
)

// lastPing is the data of the PING that follows GOAWAY and the last response.
var lastPing = [8]byte{'f', 'a', 'r', 'e', 'w', 'e', 'l', 'l'}

// Connection is an HTTP/2 connection of a client.
type Connection struct {
	server   *Server
	handler  http.Handler
	conn     *tls.Conn
	base     context.Context //nolint:containedctx // of the requests
	template *http.Request   // what all requests have in common
	in       input           // used by the goroutine that reads

	mu      sync.Mutex // guards all below, and the streams
	all     sync.Cond  // signals that a handler has returned
	out     output
	stall   stall
	streams map[uint32]*stream // that are open
	handlers
	lifetime
	received credit // of bodies, on all streams
	reset    recent
}

// recent has the streams that the connection has reset last. Frames for them may be under way.
type recent struct {
	ids  [resetKept]uint32
	next int
}

func (r *recent) add(id uint32) {
	r.ids[r.next%resetKept] = id
	r.next++
}

func (r *recent) has(id uint32) bool { return slices.Contains(r.ids[:], id) }

// handlers are those of a connection. A client can reset streams faster than their handlers return: further requests
// wait.
type handlers struct {
	running int
	queued  []*stream
	// A goroutine whose handler has returned waits for the next request: its stack has the size that requests need.
	parked bool
	spare  chan *stream // what it waits for; nil ends it
}

// lifetime is the state of a connection.
type lifetime struct {
	lastID  uint32 // of the client's streams
	leaving bool   // GOAWAY is sent
	closed  bool
	ready   bool // the client's settings have arrived
	idle    *time.Timer
	since   time.Time // since when there is no stream
}

// credit is a flow-control window that the client fills.
type credit struct {
	limit  int32 // the window when all is read
	window int32 // what the client may send
	read   int32 // what was read and is not announced yet
}

// take reports whether the client may send n bytes.
func (w *credit) take(n int32) bool {
	if n > w.window {
		return false
	}
	w.window -= n
	return true
}

// give records that n bytes were read, and returns what to announce: half of the window at least.
func (w *credit) give(n int32) (announce int32) {
	w.read += n
	if w.read < w.limit/2 || w.read == 0 {
		return 0
	}
	announce = w.read
	w.window, w.read = w.window+announce, 0
	return announce
}

// AddPatient adds to the number of requests during which the client may keep its flow-control windows closed for longer
// than StalledLimit. It is safe for concurrent use.
func (c *Connection) AddPatient(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stall.patient += requests
}

// serve reads frames until the connection is closed, and waits for the handlers.
func (c *Connection) serve() {
	err := c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	var fault frame.ConnectionError
	if errors.As(err, &fault) && !c.closed {
		c.farewell(frame.ErrCode(fault))
	}
	c.close()
	for c.running > 0 {
		c.all.Wait()
	}
}

// begin sends the settings, and starts the timer of idle connections.
func (c *Connection) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.settings(c.server.settings())
	if more := c.received.limit - initialWindow; more > 0 {
		c.out.windowUpdate(0, uint32(more))
	}
	c.since = time.Now()
	c.idle = time.AfterFunc(c.server.IdleTimeout, c.checkIdle)
	c.flush()
}

// checkIdle ends a connection that has had no streams for long.
func (c *Connection) checkIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch left := c.server.IdleTimeout - time.Since(c.since); {
	case c.closed:
	case len(c.streams) > 0:
		c.idle.Reset(c.server.IdleTimeout)
	case left > 0:
		c.idle.Reset(left)
	default:
		c.goAway()
		c.flush()
	}
}

// leave sends GOAWAY. The connection is closed when its streams have ended.
func (c *Connection) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.goAway()
		c.flushSoon()
	}
}

// goAway is leave without a flush. The caller holds the mutex.
func (c *Connection) goAway() {
	if c.leaving {
		return
	}
	c.leaving = true
	c.out.goAway(c.lastID, frame.ErrCodeNo)
	c.closeLater()
}

// closeLater closes a connection that is leaving and has no streams when the client has read all, which it says by
// acknowledging a PING, or has had time for that.
func (c *Connection) closeLater() {
	if !c.leaving || c.closed || len(c.streams) > 0 {
		return
	}
	c.out.ping(lastPing)
	c.flushSoon()
	time.AfterFunc(linger, c.closeLingering)
}

// closeLingering closes a connection whose client has not acknowledged the last PING.
func (c *Connection) closeLingering() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closeWritten() {
		time.AfterFunc(linger, c.closeLingering)
	}
}

// closeWritten closes a connection that is leaving if it has no streams and all is written. The caller holds the mutex.
func (c *Connection) closeWritten() bool {
	if c.leaving && len(c.streams) == 0 && c.out.pending == nil && !c.out.writing {
		c.close()
	}
	return c.closed
}

// farewell sends GOAWAY with the client's violation of the protocol. Closing a connection with unread bytes could lose
// the frame, so they are read for a while. The caller holds the mutex, which is released during that.
func (c *Connection) farewell(code frame.ErrCode) {
	c.leaving = true
	c.out.goAway(c.lastID, code)
	c.flush()
	c.mu.Unlock()
	defer c.mu.Lock()
	_ = c.conn.SetReadDeadline(time.Now().Add(linger))
	_, _ = io.Copy(io.Discard, c.conn)
}

// close closes the connection and ends its streams. The caller holds the mutex.
func (c *Connection) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.idle.Stop()
	c.stall.stop()
	for _, s := range c.streams {
		s.fail(errClosed)
	}
	c.queued = nil
	if c.parked {
		c.parked = false
		c.spare <- nil
	}
	c.out.wakeAll()
	conn := c.conn
	worker.Go(func() { _ = conn.Close() }) // may wait for the client, to send the alert of TLS
}

// stalled closes the connection because its client does not read. It is called with the mutex.
func (c *Connection) stalled() {
	if c.closed {
		return
	}
	c.server.Stalled()
	c.abort()
}

// abort closes the connection, and ends a write in progress. The caller holds the mutex.
func (c *Connection) abort() {
	_ = c.conn.NetConn().Close()
	c.close()
}
