package server

import (
	"context"
	"sync"

	"triplane.dev/internal/worker"
)

// lifecycle starts and stops the goroutines of a chain of servers.
type lifecycle struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	running worker.Group
	runners worker.Together
}

func newLifecycle() *lifecycle {
	ctx, cancel := context.WithCancel(context.Background())
	return &lifecycle{ctx: ctx, cancel: cancel}
}

// start runs f in a goroutine that stop waits for, and restarts it after a panic. After stop was called it does
// nothing.
func (l *lifecycle) start(f func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.running.Keep(l.ctx, f)
}

// startRunner starts a runner that stop waits for. After stop was called it does nothing.
func (l *lifecycle) startRunner(r worker.Runner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	r.Start(l.ctx)
	l.runners = append(l.runners, r)
}

// stop cancels the context and waits for all goroutines and runners.
func (l *lifecycle) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
	l.runners.Wait()
}
