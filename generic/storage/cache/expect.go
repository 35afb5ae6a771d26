package cache

import (
	"bytes"

	"triplane/generic/storage"
)

// expectedMax bounds the records that wait for their event: one a write that is
// under way, and some whose event never comes.
const expectedMax = 4096

// Expect implements storage.Cache.
func (c *Cache) Expect(r *storage.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	if r.Revision <= c.last {
		if have, ok := c.tree.Get(r.Key); ok && have.Revision == r.Revision {
			have.Adopt(r)
		}
		return
	}
	if c.expected == nil || len(c.expected) >= expectedMax {
		c.expected = map[string]*storage.Record{}
	}
	c.expected[r.Key] = r
}

// record makes the record of a change, or takes the one that its writer has
// announced.
func (c *Cache) record(change *storage.Change) *storage.Record {
	if r, ok := c.expected[change.Key]; ok {
		if r.Revision <= change.Revision {
			delete(c.expected, change.Key)
		}
		if r.Revision == change.Revision && bytes.Equal(r.Value, change.Value) {
			return r
		}
	}
	return &storage.Record{Key: change.Key, Value: change.Value, Revision: change.Revision}
}
