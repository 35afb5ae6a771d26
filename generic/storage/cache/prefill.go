package cache

import (
	"cmp"
	"context"
	"slices"

	"triplane/generic/storage"
)

const (
	// prefillLeast is how many objects a resource must have to be filled ahead: the first
	// list of fewer takes a few milliseconds either way.
	prefillLeast = 500
	// prefillSample is how many of them show how large they are.
	prefillSample = 50
)

// forecast is what it would take to fill a cache.
type forecast struct {
	cache *Cache
	bytes int64
}

// Prefill fills the caches of resources with many objects, one after the other and the smallest
// first, so that no client waits for it. It takes at most about so many bytes, and leaves the others,
// and those that cannot be read now, to their first readers. It returns when that is done, ctx has
// ended or the multiplexer has.
func (m *Multiplexer) Prefill(ctx context.Context, most int64) error {
	if err := m.begun(ctx); err != nil {
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
		_ = l.cache.fill(ctx) // the first reader gets the error
	}
	return ctx.Err()
}

// forecast estimates the bytes of a cache's values from the first ones; 0 means that it need not be
// filled ahead.
func (c *Cache) forecast(ctx context.Context) (bytes int64) {
	if c.filled.Load() {
		return 0
	}
	all, err := c.backend.Range(ctx, storage.RangeOptions{Prefix: c.cfg.Prefix, CountOnly: true}) // decrypts nothing
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
