package workspaces

import (
	"context"
	"sync"
	"time"
)

// turns let the controllers of woken workspaces start one after the other, and after the wakes that requests wait for.
// It is safe for concurrent use.
type turns struct {
	one chan struct{} // has one element while controllers start

	mu    sync.Mutex
	wakes int
	idle  chan struct{} // closed when no workspace is being woken; nil if none is
}

const (
	// turnWithin bounds how long wakes delay the next start of controllers.
	turnWithin = 100 * time.Millisecond
	// turnLasts bounds how long the next ones wait for controllers that cannot read all objects.
	turnLasts = time.Second
)

// waking counts a workspace that is being woken, until end is called.
func (t *turns) waking() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wakes++; t.wakes == 1 {
		t.idle = make(chan struct{})
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.wakes--; t.wakes == 0 {
			close(t.idle)
			t.idle = nil
		}
	}
}

func (t *turns) whenIdle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle
}

// wait returns when it is the turn of the caller, which lasts until end is called, at most for turnLasts, or when ctx is
// done.
func (t *turns) wait(ctx context.Context) (end func()) {
	select {
	case t.one <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	if idle := t.whenIdle(); idle != nil {
		limit := time.NewTimer(turnWithin)
		defer limit.Stop()
		select {
		case <-idle:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
	release := sync.OnceFunc(func() { <-t.one })
	limit := time.AfterFunc(turnLasts, release)
	return func() {
		limit.Stop()
		release()
	}
}

// Turns returns the function that waits for the turn of the workspace's controllers to start; nil for the root chain,
// whose controllers do not wait.
func (in *Inputs) Turns() func(context.Context) (end func()) {
	if in == nil || in.turns == nil {
		return nil
	}
	return in.turns.wait
}
