package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// http1 has the requests answered that clients of HTTP/1.1 send while the server shuts down. Once http.Server.Shutdown
// is called, a request that has been read is dropped, and connections without one are closed: a request that is on its
// way then is lost, and its client cannot know whether it was executed. (HTTP/2 tells a client which of its requests
// are not answered.) So before that, responses end their connections.
type http1 struct {
	leaving atomic.Bool

	mu   sync.Mutex
	open map[net.Conn]bool // which do not speak HTTP/2, or not yet
	none chan struct{}     // closed when there are none, once leaving
}

// http1Grace is how long a shutdown waits for clients that have a connection open to send another request. One that
// sends none meanwhile has most likely none on its way when the connection is closed.
const http1Grace = time.Second

// follow has a server serve h, and its connections known.
func (c *http1) follow(server *http.Server, h http.Handler) {
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

// release no longer waits for a connection: it is closed, or does not speak HTTP/1.1.
func (c *http1) release(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	c.noteNone()
}

// noteNone closes none when there are no connections, once. The caller holds the mutex.
func (c *http1) noteNone() {
	if c.leaving.Load() && len(c.open) == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// leave has all further responses end their connections, and returns when there are none, or the grace or ctx has ended.
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
