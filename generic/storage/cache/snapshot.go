package cache

import (
	"math"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"triplane.dev/generic/storage"
)

const (
	// maxSnapshots limits the snapshots that are kept for the following pages of lists.
	maxSnapshots = 8
	// snapshotTTL is how long an unused snapshot is kept. It holds all records in memory that were replaced
	// since.
	snapshotTTL = 2 * time.Minute
)

// snapshot is the tree at all revisions from since to next, exclusive. It is immutable except for next and
// used, which Cache.mu guards.
type snapshot struct {
	tree  *btree.Map[string, *storage.Record]
	since int64
	next  int64
	used  int64 // time of the last use, by the multiplexer's clock
}

// take returns the current state and its revision. All readers share one snapshot until the next event.
func (c *Cache) take() (*snapshot, int64, error) {
	// The progress is read before the tree, so that the tree has at least all changes up to it, and at most
	// those up to c.last.
	revision := c.mux.progress.load()
	c.mu.RLock()
	s, last, err := c.snapshot, c.last, c.readable()
	c.mu.RUnlock()
	if s != nil || err != nil {
		return s, max(revision, last), err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.readable(); err != nil {
		return nil, 0, err
	}
	return c.share(), max(revision, c.last), nil
}

// readable returns an error unless the tree has all records. The caller holds c.mu.
func (c *Cache) readable() error {
	switch {
	case c.stopped:
		return storage.ErrStopped
	case !c.filled.Load():
		return errBehind // it was reset
	}
	return nil
}

// share returns the snapshot of the current state. The caller holds c.mu for writing.
func (c *Cache) share() *snapshot {
	if c.snapshot == nil {
		c.snapshot = &snapshot{tree: c.tree.Copy(), since: c.last, next: math.MaxInt64}
	}
	return c.snapshot
}

// keep keeps a snapshot for the following pages.
func (c *Cache) keep(s *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.used = c.mux.clock.now()
	for _, k := range c.kept {
		if k == s {
			return
		}
	}
	if len(c.kept) == maxSnapshots {
		c.kept[0] = nil
		c.kept = c.kept[1:]
	}
	c.kept = append(c.kept, s)
}

// find returns the snapshot of the state at a revision that the multiplexer has reached, or nil.
func (c *Cache) find(revision int64) *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readable() != nil {
		return nil
	}
	if c.last <= revision {
		return c.share()
	}
	for _, k := range c.kept {
		if k.since <= revision && revision < k.next {
			k.used = c.mux.clock.now()
			return k
		}
	}
	return nil
}

// trim drops old snapshots and events.
func (c *Cache) trim(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.trim(now)
	c.kept = slices.DeleteFunc(c.kept, func(s *snapshot) bool { return now-s.used > int64(snapshotTTL) })
}

// from returns the first record at or after a key, or nil.
func (s *snapshot) from(key string) (first *storage.Record) {
	s.tree.Ascend(key, func(_ string, r *storage.Record) bool {
		first = r
		return false
	})
	return first
}

// rank returns the number of keys that are less than key.
func (s *snapshot) rank(key string) int {
	low, high := 0, s.tree.Len()
	for low < high {
		middle := int(uint(low+high) >> 1)
		if k, _, _ := s.tree.GetAt(middle); k < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
