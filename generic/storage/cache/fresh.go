package cache

import (
	"context"
	"errors"
	"time"

	"triplane/generic/base/tracing"
	"triplane/generic/storage"
)

// freshWait is how long a read waits for a revision that has not arrived.
const freshWait = 3 * time.Second

// errBehind says that the watch does not come to a revision that the backend has.
var errBehind = errors.New("storage: the cache is behind the backend")

// freshen waits until the cache is as new as a read wants it.
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

// revision asks the backend for its revision, which is all that a consistent read reads from it.
func (c *Cache) revision(ctx context.Context) (int64, error) {
	ctx, span := tracing.Start(ctx, "etcd revision")
	defer span.End()
	return c.mux.backend.Revision(ctx)
}

// await waits for a revision for a while, and then returns late, or a
// *storage.TooLargeError if that is nil.
func (c *Cache) await(ctx context.Context, revision int64, late error) error {
	if c.mux.progress.load() >= revision {
		c.counts.waits.none()
		return nil
	}
	begun := time.Now()
	defer func() { c.counts.waits.add(time.Since(begun)) }()
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
