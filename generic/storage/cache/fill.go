package cache

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tidwall/btree"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/longwork"
	"triplane.dev/internal/worker"
)

const (
	// fillAttempts limits the restarts of a fill because of resets.
	fillAttempts = 5
)

// filling is a fill in progress.
type filling struct {
	done chan struct{}
	err  error
}

// fill ensures that the tree has all records. Concurrent readers share one fill, which continues if they give
// up.
func (c *Cache) fill(ctx context.Context) error {
	if c.filled.Load() {
		return nil
	}
	if err := c.mux.waitStarted(ctx); err != nil {
		return err
	}
	f, err := c.joinFill()
	if f == nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// joinFill returns the fill in progress, or starts one. It returns nil if the cache is filled.
func (c *Cache) joinFill() (*filling, error) {
	c.mux.mu.RLock() // no fill starts after the multiplexer has ended
	defer c.mux.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped || c.mux.ended:
		return nil, storage.ErrStopped
	case c.filled.Load():
		return nil, nil
	case c.filling != nil:
		return c.filling, nil
	case c.lost.err != nil && c.mux.clock.now() < c.lost.until:
		return nil, c.lost.err
	}
	c.lost.changes = false
	f := &filling{done: make(chan struct{})}
	c.filling = f
	c.mux.fills.Go(func() {
		f.err = worker.Try(func() error { return c.runFill(c.mux.ctx) })
		c.mu.Lock()
		c.filling = nil
		c.lost.failed(f.err, c.mux.clock.now())
		c.history.pinned = false
		c.mu.Unlock()
		close(f.done)
	})
	c.history.pinned = true
	return f, nil
}

func (c *Cache) runFill(ctx context.Context) (err error) {
	c.counts.fills.Add(1)
	begun := time.Now()
	for range fillAttempts {
		var done bool
		if done, err = c.tryFill(ctx); done {
			c.counts.filled.add(fillBounds, time.Since(begun))
			return nil
		}
		if ctx.Err() != nil || c.isStopped() {
			return storage.ErrStopped
		}
		if errors.As(err, new(*storage.TransformError)) {
			return err
		}
	}
	if err == nil {
		err = storage.ErrCompacted
	}
	return err
}

func (c *Cache) isStopped() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.stopped
}

// tryFill lists all records, waits until the multiplexer reaches the list's revision, and applies the later
// events of the history.
func (c *Cache) tryFill(ctx context.Context) (bool, error) {
	c.mu.RLock()
	epoch := c.epoch
	c.mu.RUnlock()
	tree, revision, err := c.load(ctx)
	if err != nil {
		return false, err
	}
	if err := c.mux.progress.wait(ctx, revision); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return false, nil
	}
	behind, err := c.history.after(revision)
	if err != nil {
		return false, err
	}
	c.tree = tree
	for i := behind; i < c.history.count; i++ {
		c.store(c.history.at(i))
	}
	c.filled.Store(true)
	return true, nil
}

// load reads all records at one revision.
func (c *Cache) load(ctx context.Context) (*btree.Map[string, *storage.Record], int64, error) {
	tree := newTree()
	clock := longwork.Start(longwork.Interval)
	var revision int64
	for page, err := range storage.Pages(ctx, c.backend, storage.RangeOptions{Prefix: c.cfg.Prefix}) {
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Items {
			if err := page.Items[i].Err; err != nil {
				return nil, 0, err
			}
			r := newRecord(&page.Items[i]).Compressed()
			tree.Load(r.Key, r)
		}
		if clock.Due() {
			klog.InfoS("Reading objects from storage", "prefix", c.cfg.Prefix, "objects", tree.Len())
		}
		revision = page.Revision
	}
	return tree, revision, nil
}

func newRecord(kv *storage.KeyValue) *storage.Record {
	r := storage.NewRecord(kv.Key, kv.Value, kv.Revision)
	r.Err = kv.Err
	return r
}

const (
	// prefillLeast is the number of objects from which on a resource is prefilled. The first list of fewer
	// objects takes only a few milliseconds.
	prefillLeast = 500
	// prefillSample is how many objects are read to estimate the size of all.
	prefillSample = 50
)

// forecast is the estimated size of a cache.
type forecast struct {
	cache *Cache
	bytes int64
}

// Prefill fills the caches of resources with many objects, so that no client waits for it. It fills the
// smallest first, one after the other, up to about most bytes in total. A cache that cannot be filled now is
// left to its first reader. Prefill returns when it is done, or when ctx or the multiplexer ends.
func (m *Multiplexer) Prefill(ctx context.Context, most int64) error {
	if err := m.waitStarted(ctx); err != nil {
		return err
	}
	var large []forecast
	m.Each(func(c *Cache) {
		if bytes := c.forecast(ctx); bytes > 0 {
			large = append(large, forecast{c, bytes})
		}
	})
	slices.SortFunc(large, func(a, b forecast) int { return cmp.Compare(a.bytes, b.bytes) })
	for _, l := range large {
		if most -= l.bytes; most < 0 || ctx.Err() != nil {
			break
		}
		_ = l.cache.fill(ctx) // the first reader gets a persistent error
	}
	return ctx.Err()
}

// forecast estimates the bytes of a cache's values from the first ones. It returns 0 if prefilling is
// unnecessary.
func (c *Cache) forecast(ctx context.Context) (bytes int64) {
	if c.filled.Load() {
		return 0
	}
	all, err := c.backend.Range(ctx, storage.RangeOptions{Prefix: c.cfg.Prefix, CountOnly: true}) // without decryption
	if err != nil || all.Count < prefillLeast {
		return 0
	}
	found, err := c.backend.Range(ctx, storage.RangeOptions{Prefix: c.cfg.Prefix, Limit: prefillSample})
	if err != nil || len(found.Items) == 0 {
		return 0
	}
	for i := range found.Items {
		bytes += int64(len(found.Items[i].Key) + len(found.Items[i].Value))
	}
	return max(1, bytes/int64(len(found.Items))*all.Count)
}
