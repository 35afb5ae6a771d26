package cache

import (
	"context"
	"errors"

	"github.com/tidwall/btree"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/longwork"
	"triplane.dev/internal/worker"
)

const (
	// fillPage is the number of keys per page of a fill. For each page etcd counts all remaining keys.
	fillPage = 10_000
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
	for range fillAttempts {
		var done bool
		if done, err = c.tryFill(ctx); done {
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
	opts := storage.RangeOptions{Prefix: c.cfg.Prefix, Limit: fillPage}
	for {
		page, err := c.backend.Range(ctx, opts)
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Items {
			if err := page.Items[i].Err; err != nil {
				return nil, 0, err
			}
			r := newRecord(&page.Items[i])
			tree.Load(r.Key, r)
		}
		if clock.Due() {
			klog.InfoS("Reading objects from storage", "prefix", c.cfg.Prefix, "objects", tree.Len())
		}
		opts.Revision = page.Revision
		if !page.More || len(page.Items) == 0 {
			return tree, page.Revision, nil
		}
		opts.After = page.Items[len(page.Items)-1].Key
	}
}

func newRecord(kv *storage.KeyValue) *storage.Record {
	return &storage.Record{Key: kv.Key, Value: kv.Value, Revision: kv.Revision, Err: kv.Err}
}
