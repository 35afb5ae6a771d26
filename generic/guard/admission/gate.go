package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// gateWait is how long a request waits for the objects that plugins depend on.
const gateWait = 10 * time.Second

// Gate blocks requests until the objects that a plugin depends on are synced. A nil Gate is open. It is safe
// for concurrent use.
type Gate struct {
	open   atomic.Bool
	once   sync.Once
	opened chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{opened: make(chan struct{})} }

// Open opens the gate for good.
func (g *Gate) Open() {
	g.once.Do(func() {
		g.open.Store(true)
		close(g.opened)
	})
}

// IsOpen reports whether Wait returns at once.
func (g *Gate) IsOpen() bool { return g == nil || g.open.Load() }

// Wait waits until the gate opens, at most 10 seconds. Its error is the status that denies the request.
func (g *Gate) Wait(ctx context.Context, a *Attributes) error {
	if g.IsOpen() {
		return nil
	}
	t := time.NewTimer(gateWait)
	defer t.Stop()
	select {
	case <-g.opened:
		return nil
	case <-t.C:
	case <-ctx.Done():
	}
	return NewForbidden(a, errors.New("not yet ready to handle request"))
}
