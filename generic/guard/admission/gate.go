package admission

import (
	"context"
	"errors"
	"time"

	"triplane.dev/internal/worker"
)

// gateWait is how long a request waits for the objects that plugins depend on.
const gateWait = 10 * time.Second

// Gate blocks requests until the objects that a plugin depends on are synced. A nil Gate is open. It is safe
// for concurrent use.
type Gate struct{ objects *worker.OnDemand }

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{worker.NewOnDemand()} }

// Wanted is closed when the first request waits.
func (g *Gate) Wanted() <-chan struct{} { return g.objects.Wanted() }

// Open opens the gate for good.
func (g *Gate) Open() { g.objects.Ready() }

// IsOpen reports whether Wait returns at once.
func (g *Gate) IsOpen() bool { return g == nil || g.objects.IsReady() }

// Wait waits until the gate opens, at most 10 seconds. Its error is the status that denies the request.
func (g *Gate) Wait(ctx context.Context, a *Attributes) error {
	if g == nil || g.objects.Wait(ctx, gateWait) == nil {
		return nil
	}
	return NewForbidden(a, errors.New("not yet ready to handle request"))
}
