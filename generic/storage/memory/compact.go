package memory

import (
	"context"
	"slices"
	"sort"

	"triplane/generic/storage"
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

// compactKey drops the versions of a key that no revision from the given one on sees. Only
// keys that changed before it have any. b.mu is held.
func (b *Backend) compactKey(key string, revision int64) {
	versions, found := b.keys.Get(key)
	if !found {
		return // all of it has been dropped
	}
	seen := sort.Search(len(versions), func(i int) bool { return versions[i].revision > revision }) - 1
	if seen >= 0 && versions[seen].value == nil {
		seen++ // nothing is what a key without versions is, too
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
