package aggregator

import (
	"context"
	"net"
	"sync"
)

// connections are those that upgraded requests took over: nobody but them knows
// when they end, and a server that stops has to end them.
type connections struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dial keeps account of what a dialer opens.
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

// close ends all connections; no more are opened.
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
