package worker

import (
	"context"
	"sync"
	"time"
)

// OnDemand is work that its first user starts. All users wait until it is ready. It is safe for concurrent use.
type OnDemand struct {
	first, last   sync.Once
	wanted, ready chan struct{}
}

// NewOnDemand returns work without users.
func NewOnDemand() *OnDemand {
	return &OnDemand{wanted: make(chan struct{}), ready: make(chan struct{})}
}

// Wanted is closed by the first Wait.
func (d *OnDemand) Wanted() <-chan struct{} { return d.wanted }

// Ready ends all calls of Wait. Further calls do nothing.
func (d *OnDemand) Ready() { d.last.Do(func() { close(d.ready) }) }

// IsReady reports whether Wait returns at once.
func (d *OnDemand) IsReady() bool {
	select {
	case <-d.ready:
		return true
	default:
		return false
	}
}

// Wait returns when the work is ready. The error is that of ctx, or context.DeadlineExceeded after the time most.
func (d *OnDemand) Wait(ctx context.Context, most time.Duration) error {
	if d.IsReady() {
		return nil
	}
	d.first.Do(func() { close(d.wanted) })
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-d.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
