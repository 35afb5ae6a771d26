package conntrack

import (
	"context"
	"net"
	"sync"
)

// Set is a set of open connections. The zero value is empty. It is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

// DialFunc connects to an address.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial returns a dialer whose connections are in the set until they are closed.
func (c *Set) Dial(next DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.add(conn)
	}
}

func (c *Set) add(conn net.Conn) (net.Conn, error) {
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

// Close closes all connections; later dials fail.
func (c *Set) Close() {
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
	of *Set
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
