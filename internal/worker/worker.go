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

// again is how long after its panic a worker begins anew.
const again = time.Second

var panics atomic.Int64

// Panics is how many there were in this process.
func Panics() int64 { return panics.Load() }

// PanicError is a panic as an error.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Try returns what f does, or a PanicError.
func Try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panics.Add(1)
			err = &PanicError{p}
			klog.ErrorS(err, "A worker panicked", "stack", string(debug.Stack()))
		}
	}()
	return f()
}

func run(f func()) (panicked bool) {
	return Try(func() error { f(); return nil }) != nil
}

// Go runs f in a goroutine.
func Go(f func()) { go run(f) }

// Keep runs f until it returns, and begins anew when it panics, a second later,
// unless ctx has ended by then.
func Keep(ctx context.Context, f func(context.Context)) {
	for run(func() { f(ctx) }) {
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// Group waits for goroutines. The zero Group is ready.
type Group struct{ all sync.WaitGroup }

// Go runs f in a goroutine of the group.
func (g *Group) Go(f func()) { g.all.Go(func() { run(f) }) }

// Keep runs f in a goroutine of the group as the function Keep does.
func (g *Group) Keep(ctx context.Context, f func(context.Context)) {
	g.all.Go(func() { Keep(ctx, f) })
}

// Wait returns when all goroutines of the group have.
func (g *Group) Wait() { g.all.Wait() }
