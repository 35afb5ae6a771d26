package cache

import (
	"context"
	"errors"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/storage"
)

// freshWait is how long a read waits for a revision.
const freshWait = 3 * time.Second

// errBehind means that the watch does not reach a revision of the backend.
var errBehind = errors.New("storage: the cache is behind the backend")

// freshen waits until the cache is as fresh as a read requires.
func (c *Cache) freshen(ctx context.Context, fresh storage.Freshness) error {
	if err := c.fill(ctx); err != nil {
		return err
	}
	switch fresh.Match {
	case storage.Consistent:
		revision, err := c.revision(ctx)
		if err != nil {
			return err
		}
		err = c.await(ctx, revision, errBehind)
		if errors.Is(err, errBehind) {
			c.counts.behind.Add(1)
		} else {
			c.counts.consistent.Add(1)
		}
		return err
	case storage.NotOlderThan:
		return c.await(ctx, fresh.Revision, nil)
	}
	return nil
}

// revision returns the backend's revision for a consistent read.
func (c *Cache) revision(ctx context.Context) (int64, error) {
	ctx, span := tracing.Start(ctx, "etcd revision")
	defer span.End()
	return c.mux.backend.Revision(ctx)
}

// await waits for a revision for a limited time. Then it returns late, or a *storage.TooLargeError if late is
// nil.
func (c *Cache) await(ctx context.Context, revision int64, late error) error {
	if c.mux.progress.load() >= revision {
		c.counts.waits.none()
		return nil
	}
	waitStarted := time.Now()
	defer func() { c.counts.waits.add(waitBounds, time.Since(waitStarted)) }()
	bounded, cancel := context.WithTimeout(ctx, c.mux.patience)
	defer cancel()
	if err := c.mux.progress.wait(bounded, revision); err == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if late != nil {
		return late
	}
	return &storage.TooLargeError{Requested: revision, Current: c.mux.progress.load()}
}

// Bounds of the buckets of Durations, in seconds.
var (
	waitBounds = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3}
	fillBounds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600}
)

// maxBounds is the largest number of bounds.
const maxBounds = 13

// Durations is the distribution of durations: how long reads waited for a fresh cache, or fills took.
type Durations struct {
	bounds []float64
	counts [maxBounds + 1]uint64
	Total  time.Duration
}

// Histogram returns the number of durations, and the cumulative count for each upper bound in seconds.
func (d *Durations) Histogram() (all uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(d.bounds))
	for i, n := range d.counts {
		all += n
		if i < len(d.bounds) {
			upTo[d.bounds[i]] = all
		}
	}
	return all, upTo
}

// durations counts the durations of a cache.
type durations struct {
	counts [maxBounds + 1]atomic.Uint64
	total  atomic.Int64 // nanoseconds
}

// none counts a read that did not wait.
func (d *durations) none() { d.counts[0].Add(1) }

func (d *durations) add(bounds []float64, took time.Duration) {
	d.counts[sort.SearchFloat64s(bounds, took.Seconds())].Add(1)
	d.total.Add(int64(took))
}

func (d *durations) load(bounds []float64) Durations {
	out := Durations{bounds: bounds, Total: time.Duration(d.total.Load())}
	for i := range d.counts {
		out.counts[i] = d.counts[i].Load()
	}
	return out
}

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
