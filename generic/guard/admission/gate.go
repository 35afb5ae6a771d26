package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// gateWait is how long a request waits for the objects that plugins validate it by.
const gateWait = 10 * time.Second

// Gate holds requests back until plugins know the objects by which they validate. A
// nil Gate is open. It is safe for concurrent use.
type Gate struct {
	open   atomic.Bool
	once   sync.Once
	opened chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{opened: make(chan struct{})} }

// Open lets everybody through, from now on.
func (g *Gate) Open() {
	g.once.Do(func() {
		g.open.Store(true)
		close(g.opened)
	})
}

// IsOpen reports whether Wait returns at once.
func (g *Gate) IsOpen() bool { return g == nil || g.open.Load() }

// Wait waits for the gate to open. The error refuses the operation.
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
