package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"
)

// lifecycle counts the goroutines of a chain of servers and ends them.
type lifecycle struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

func newLifecycle() *lifecycle {
	ctx, cancel := context.WithCancel(context.Background())
	return &lifecycle{ctx: ctx, cancel: cancel}
}

// start runs f in a goroutine that stop waits for; it does nothing once stop
// was called.
func (l *lifecycle) start(f func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		defer func() {
			if p := recover(); p != nil {
				klog.ErrorS(fmt.Errorf("%v", p), "A goroutine of the server panicked", "stack", string(debug.Stack()))
			}
		}()
		f(l.ctx)
	}()
}

// stop ends the context and waits for all goroutines.
func (l *lifecycle) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
}
