package cache

import (
	"bytes"

	"triplane.dev/generic/storage"
)

// expectedMax limits the records that wait for their change: one for each write in progress, and some whose
// change never arrives.
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

// record returns the record for a change, which is the announced one if there is one.
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
