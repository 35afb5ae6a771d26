package aggregator

import (
	"context"
	"net"
	"sync"
)

// connections tracks the connections of upgraded requests, so that they can be closed when the server stops.
type connections struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dial returns a dialer that tracks its connections.
func (c *connections) dial(next dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.add(conn)
	}
}

func (c *connections) add(conn net.Conn) (net.Conn, error) {
	mine := &connection{Conn: conn, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	if c.open == nil {
		c.open = map[*connection]struct{}{}
	}
	c.open[mine] = struct{}{}
	return mine, nil
}

// close closes all connections; later dials fail.
func (c *connections) close() {
	c.mu.Lock()
	open := c.open
	c.open, c.closed = nil, true
	c.mu.Unlock()
	for conn := range open {
		conn.Conn.Close()
	}
}

type connection struct {
	net.Conn
	of *connections
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
