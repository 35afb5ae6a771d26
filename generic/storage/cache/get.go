package cache

import (
	"context"
	"errors"

	"triplane.dev/generic/storage"
)

// Get implements storage.Cache.
func (c *Cache) Get(ctx context.Context, key string, fresh storage.Freshness) (*storage.Record, error) {
	err := c.freshen(ctx, fresh)
	if err != nil {
		if errors.Is(err, errBehind) || errors.As(err, new(*storage.TransformError)) {
			return c.getFromBackend(ctx, key)
		}
		return nil, err
	}
	c.mu.RLock()
	r, ok := c.tree.Get(key)
	filled, stopped := c.filled.Load(), c.stopped
	c.mu.RUnlock()
	switch {
	case ok:
		return r, nil
	case stopped:
		return nil, storage.ErrStopped
	case !filled: // it was reset in the meantime
		return c.getFromBackend(ctx, key)
	}
	return nil, storage.ErrNotFound
}

// getFromBackend serves a get while the watch is behind, or while an undecryptable value prevents the fill.
func (c *Cache) getFromBackend(ctx context.Context, key string) (*storage.Record, error) {
	kv, err := c.backend.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return newRecord(&kv), nil
}

// Peek implements storage.Cache.
func (c *Cache) Peek(_ context.Context, key string) (*storage.Record, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, _ := c.tree.Get(key)
	return r, nil
}
