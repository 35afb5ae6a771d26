package cache

import (
	"cmp"
	"context"
	"slices"

	"triplane.dev/generic/storage"
)

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
