package soak

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// proxy passes connections on to an address, and does them harm when it is asked to.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	conns  map[net.Conn]bool
	// until is when bytes pass again; delay is how late each piece of them is.
	until time.Time
	delay time.Duration
	// refused has connections end as soon as they begin.
	refused bool
}

func newProxy(ctx context.Context, target string) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, conns: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := p.dial()
		if err != nil {
			_ = client.Close() // there is nobody to talk to
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		go p.pass(client, server)
		go p.pass(server, client)
	}
}

func (p *proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	refused, target := p.refused, p.target
	p.mu.Unlock()
	if refused {
		return nil, net.ErrClosed
	}
	return net.Dial("tcp", target)
}

// aim passes further connections on to another address.
func (p *proxy) aim(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// refuse ends all connections and takes no more, or takes them again.
func (p *proxy) refuse(refused bool) {
	p.mu.Lock()
	p.refused = refused
	p.mu.Unlock()
	p.cut()
}

// pass copies until one of the two has had enough.
func (p *proxy) pass(from, to net.Conn) {
	defer p.drop(from, to)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			time.Sleep(p.wait())
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) wait() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.delay, time.Until(p.until))
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // the other side sees it
		delete(p.conns, c)
	}
}

// swallow has nothing pass for a time, in either direction.
func (p *proxy) swallow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(d)
}

// slow has each piece come late.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	conns := make([]net.Conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	p.drop(conns...)
}

func (p *proxy) close() error {
	err := p.listener.Close()
	p.cut()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
