package request

import (
	"context"
	"sync"
)

// Lock is a mutex for work that requests share, for example the creation of a document. A request that waits for it
// releases its seats, because it uses no processor, and stops waiting at its deadline. The zero value is not locked.
type Lock struct {
	mu     sync.Mutex
	locked bool
	freed  chan struct{} // closed when it is unlocked; nil if nothing waits
}

// Seats are the seats that a request holds in priority and fairness.
type Seats interface {
	// Release releases them: a watch has sent its initial events.
	Release()
	// Wait releases them if the request waits for another one until end is called. The returned context is done when it
	// must not wait any more.
	Wait(ctx context.Context) (_ context.Context, end func())
}

// Lock locks l, or returns the error of ctx, which is done first.
func (l *Lock) Lock(ctx context.Context) error {
	freed := l.try()
	if freed == nil {
		return nil
	}
	if s := StateFrom(ctx); s != nil && s.Seats != nil {
		var end func()
		ctx, end = s.Seats.Wait(ctx)
		defer end()
	}
	for freed != nil {
		select {
		case <-freed:
			freed = l.try()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// try locks l and returns nil, or returns a channel that is closed when another try may succeed.
func (l *Lock) try() (freed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.locked {
		l.locked = true
		return nil
	}
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed
}

// Unlock unlocks l, which must be locked.
func (l *Lock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked = false
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
