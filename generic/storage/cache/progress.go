package cache

import (
	"context"
	"sync"
	"sync/atomic"
)

// progress is a revision that only increases. Readers can wait for it.
type progress struct {
	revision  atomic.Int64
	requested chan struct{} // receives when a reader waits; one slot
	quiet     bool          // progress need not be requested

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil if no reader waits
}

func newProgress() *progress { return &progress{requested: make(chan struct{}, 1)} }

func (p *progress) load() int64 { return p.revision.Load() }

// set sets the revision and wakes all readers.
func (p *progress) set(revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision.Store(revision)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// change returns a channel that is closed at the next change, or nil if no reader waits.
func (p *progress) change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// wait returns when the revision is reached or ctx ends.
func (p *progress) wait(ctx context.Context, revision int64) error {
	for p.load() < revision {
		p.mu.Lock()
		if p.load() >= revision {
			p.mu.Unlock()
			return nil
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		if !p.quiet {
			select {
			case p.requested <- struct{}{}:
			default:
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
