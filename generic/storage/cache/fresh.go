package cache

import (
	"context"
	"errors"
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
	defer func() { c.counts.waits.add(time.Since(waitStarted)) }()
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
