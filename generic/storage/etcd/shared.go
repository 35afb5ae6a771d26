package etcd

import (
	"context"
	"sync"
	"time"

	"triplane.dev/internal/worker"
)

// sharedCall shares the calls of a function among concurrent callers. Its result is valid for all callers that
// arrived before the call.
type sharedCall struct {
	call    func(context.Context) (int64, error)
	timeout time.Duration

	mu      sync.Mutex
	running bool
	next    *batch // callers of the next call
}

type batch struct {
	done  chan struct{}
	value int64
	err   error
}

// do returns the result of a call that starts after do was called.
func (c *sharedCall) do(ctx context.Context) (int64, error) {
	c.mu.Lock()
	if c.next == nil {
		c.next = &batch{done: make(chan struct{})}
	}
	joined := c.next
	if !c.running {
		c.running = true
		worker.Go(c.run)
	}
	c.mu.Unlock()
	select {
	case <-joined.done:
		return joined.value, joined.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run executes calls until no caller waits. It does not use the context of any caller, because they share the
// calls.
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
			b.value, err = c.call(ctx)
			return err
		})
		cancel()
		close(b.done)
	}
}
