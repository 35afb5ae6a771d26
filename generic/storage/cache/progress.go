package cache

import (
	"context"
	"sync"
	"sync/atomic"
)

// progress is a revision that only grows, and those who wait for it.
type progress struct {
	revision atomic.Int64
	nudge    chan struct{} // informs the multiplexer that somebody waits; one slot
	quiet    bool          // nobody waits to be informed

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil while nobody waits
}

func newProgress() *progress { return &progress{nudge: make(chan struct{}, 1)} }

func (p *progress) load() int64 { return p.revision.Load() }

// set moves the revision and wakes all who wait.
func (p *progress) set(revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision.Store(revision)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// change is closed when the revision moves; nil while nobody waits for that.
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
			case p.nudge <- struct{}{}:
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
