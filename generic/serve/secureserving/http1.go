package secureserving

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// http1 completes the requests of HTTP/1.1 clients during shutdown. http.Server.Shutdown drops a request that was
// read after it was called, and closes idle connections. A request in transit is then lost, and its client cannot
// know whether it was executed. (HTTP/2 reports which requests were not processed.) Therefore responses close
// their connections before Shutdown is called.
type http1 struct {
	leaving atomic.Bool
	handler http.Handler

	mu   sync.Mutex
	open map[net.Conn]bool // connections that do not speak HTTP/2, or not yet
	none chan struct{}     // closed when no connection is left, after leave was called
}

// http1Grace is how long a shutdown waits for the next request on idle connections. A client that sends none
// within it most likely has none in transit when the connection is closed.
const http1Grace = time.Second

// follow makes a server serve h, and tracks its connections.
func (c *http1) follow(server *http.Server, h http.Handler) {
	c.handler = h
	c.open, c.none = map[net.Conn]bool{}, make(chan struct{})
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.open[conn] = true
		case http.StateClosed, http.StateHijacked:
			c.release(conn)
		}
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && c.leaving.Load() && r.Header.Get("Upgrade") == "" {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// release stops tracking a connection: it is closed, or does not speak HTTP/1.1.
func (c *http1) release(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	c.noteNone()
}

// noteNone closes none once, when no connection is left. The caller holds the mutex.
func (c *http1) noteNone() {
	if c.leaving.Load() && len(c.open) == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// leave makes further responses close their connections. It returns when no connection is left, or when the grace
// period or ctx has ended.
func (c *http1) leave(ctx context.Context) {
	c.mu.Lock()
	c.leaving.Store(true)
	none := c.none
	c.noteNone()
	c.mu.Unlock()
	grace := time.NewTimer(http1Grace)
	defer grace.Stop()
	select {
	case <-none:
	case <-grace.C:
	case <-ctx.Done():
	}
}
