package memory

import (
	"context"
	"slices"
	"sort"

	"triplane.dev/generic/storage"
)

// Compact implements storage.Backend.
func (b *Backend) Compact(ctx context.Context, revision int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch err := b.usable(ctx); {
	case err != nil:
		return err
	case revision <= b.compacted:
		return storage.ErrCompacted
	case revision > b.revision:
		return storage.ErrFutureRevision
	}
	gone := sort.Search(len(b.log), func(i int) bool { return b.log[i].Revision > revision })
	for _, c := range b.log[:gone] {
		b.compactKey(c.Key, revision)
	}
	b.log = slices.Clone(b.log[gone:])
	b.compacted = revision
	return nil
}

// compactKey deletes the versions of a key that are not visible at the revision or later. The caller holds
// b.mu.
func (b *Backend) compactKey(key string, revision int64) {
	versions, found := b.keys.Get(key)
	if !found {
		return // all versions were deleted before
	}
	seen := sort.Search(len(versions), func(i int) bool { return versions[i].revision > revision }) - 1
	if seen >= 0 && versions[seen].value == nil {
		seen++ // no version is equivalent to a deletion
	}
	for _, v := range versions[:max(seen, 0)] {
		b.size -= int64(len(key) + len(v.value))
	}
	switch {
	case seen == len(versions):
		b.keys.Delete(key)
	case seen > 0:
		b.keys.Set(key, slices.Clone(versions[seen:]))
	}
}
