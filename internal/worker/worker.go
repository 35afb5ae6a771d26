package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// restartDelay is the delay before a worker is restarted after a panic.
const restartDelay = time.Second

var panics atomic.Int64

// Panics returns the number of panics in this process.
func Panics() int64 { return panics.Load() }

// PanicError is a recovered panic.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Try returns the error of f, or a PanicError.
func Try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panics.Add(1)
			err = &PanicError{p}
			klog.ErrorS(err, "Worker panicked", "stack", string(debug.Stack()))
		}
	}()
	return f()
}

func run(f func()) (panicked bool) {
	return Try(func() error { f(); return nil }) != nil
}

// Go runs f in a goroutine.
func Go(f func()) { go run(f) }

// Keep runs f until it returns, and restarts it a second after a panic, unless ctx is done.
func Keep(ctx context.Context, f func(context.Context)) {
	for run(func() { f(ctx) }) {
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return
		}
	}
}

// Group waits for goroutines. The zero value is ready to use.
type Group struct{ all sync.WaitGroup }

// Go runs f in a goroutine of the group.
func (g *Group) Go(f func()) { g.all.Go(func() { run(f) }) }

// Keep runs f in a goroutine of the group like the function Keep.
func (g *Group) Keep(ctx context.Context, f func(context.Context)) {
	g.all.Go(func() { Keep(ctx, f) })
}

// Wait returns when all goroutines of the group have returned.
func (g *Group) Wait() { g.all.Wait() }
