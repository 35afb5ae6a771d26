package cache

import (
	"math"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"triplane/generic/storage"
)

const (
	// keptMax bounds the snapshots that are kept for the pages of lists to come.
	keptMax = 8
	// keptFor is for how long a snapshot is kept that no page is read from: it
	// holds all records alive that have been replaced since.
	keptFor = 2 * time.Minute
)

// snapshot is the tree as it was at all revisions from since up to, but without,
// next. It is not changed any more, but for next and used, which Cache.mu guards.
type snapshot struct {
	tree  *btree.Map[string, *storage.Record]
	since int64
	next  int64
	used  int64 // when it was kept or found last, by the multiplexer's clock
}

// take returns the present state and the revision that it may be called by. All
// readers share one snapshot until an event comes.
func (c *Cache) take() (*snapshot, int64, error) {
	// The progress is read first: the tree then holds all of it, and perhaps
	// more, up to the cache's latest event.
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

// readable reports whether the tree holds everything. c.mu is held.
func (c *Cache) readable() error {
	switch {
	case c.stopped:
		return storage.ErrStopped
	case !c.filled.Load():
		return errBehind // it began anew
	}
	return nil
}

// share returns the snapshot of the present state. c.mu is held for writing.
func (c *Cache) share() *snapshot {
	if c.snapshot == nil {
		c.snapshot = &snapshot{tree: c.tree.Copy(), since: c.last, next: math.MaxInt64}
	}
	return c.snapshot
}

// keep keeps a snapshot for the pages to come.
func (c *Cache) keep(s *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.used = c.mux.clock.now()
	for _, k := range c.kept {
		if k == s {
			return
		}
	}
	if len(c.kept) == keptMax {
		c.kept[0] = nil
		c.kept = c.kept[1:]
	}
	c.kept = append(c.kept, s)
}

// find returns a snapshot of the state at a revision that the multiplexer has come to;
// nil if there is none.
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

// trim forgets snapshots and events that are too old to be of use.
func (c *Cache) trim(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.trim(now)
	c.kept = slices.DeleteFunc(c.kept, func(s *snapshot) bool { return now-s.used > int64(keptFor) })
}

// from is the first record at a key or behind it, nil if there is none.
func (s *snapshot) from(key string) (first *storage.Record) {
	s.tree.Ascend(key, func(_ string, r *storage.Record) bool {
		first = r
		return false
	})
	return first
}

// rank is the number of keys below key.
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
