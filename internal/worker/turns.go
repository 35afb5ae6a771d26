package worker

import (
	"context"
	"sync"
	"time"
)

// Turns lets work in the background begin one after the other, and after urgent work. It is safe for concurrent use.
type Turns struct {
	within, lasts time.Duration
	one           chan struct{} // has one element while work begins

	mu     sync.Mutex
	urgent int
	idle   chan struct{} // closed when no urgent work is done; nil if none is
}

// NewTurns returns Turns. Urgent work delays the next turn no longer than within, and a turn ends after lasts, if not
// before.
func NewTurns(within, lasts time.Duration) *Turns {
	return &Turns{within: within, lasts: lasts, one: make(chan struct{}, 1)}
}

// Urgent delays turns until end is called.
func (t *Turns) Urgent() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.urgent++; t.urgent == 1 {
		t.idle = make(chan struct{})
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.urgent--; t.urgent == 0 {
			close(t.idle)
			t.idle = nil
		}
	}
}

func (t *Turns) whenIdle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle
}

// Wait returns when it is the caller's turn, which lasts until end is called, or when ctx is done.
func (t *Turns) Wait(ctx context.Context) (end func()) {
	select {
	case t.one <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	if idle := t.whenIdle(); idle != nil {
		limit := time.NewTimer(t.within)
		defer limit.Stop()
		select {
		case <-idle:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
	release := sync.OnceFunc(func() { <-t.one })
	limit := time.AfterFunc(t.lasts, release)
	return func() {
		limit.Stop()
		release()
	}
}
