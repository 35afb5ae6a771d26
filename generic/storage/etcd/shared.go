package etcd

import (
	"context"
	"sync"
	"time"

	"triplane/internal/worker"
)

// sharedCall lets many callers share the answers of a function whose answer is
// good for everybody who asked before it was called.
type sharedCall struct {
	ask     func(context.Context) (int64, error)
	timeout time.Duration

	mu      sync.Mutex
	running bool
	next    *batch // those who wait for the next call
}

type batch struct {
	done  chan struct{}
	value int64
	err   error
}

// do returns the answer of a call that begins after do was entered.
func (c *sharedCall) do(ctx context.Context) (int64, error) {
	c.mu.Lock()
	if c.next == nil {
		c.next = &batch{done: make(chan struct{})}
	}
	mine := c.next
	if !c.running {
		c.running = true
		worker.Go(c.run)
	}
	c.mu.Unlock()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run answers batches until nobody waits. It does not run under any caller's
// context, since it asks for all of them.
func (c *sharedCall) run() {
	for {
		c.mu.Lock()
		b := c.next
		c.next = nil
		if b == nil {
			c.running = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
		b.err = worker.Try(func() (err error) {
			b.value, err = c.ask(ctx)
			return err
		})
		cancel()
		close(b.done)
	}
}
