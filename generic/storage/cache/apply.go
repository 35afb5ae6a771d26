package cache

import (
	"bytes"

	"triplane.dev/generic/storage"
)

// apply applies changes in their order. It reports whether wake must be called. All changes of one revision are
// in one call, so that readers never see a part of them.
func (c *Cache) apply(changes []storage.Change) bool {
	if c.cfg.View != nil {
		changes = c.decode(changes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	clean := len(c.watchers.dirty) == 0
	c.counts.events.Add(int64(len(changes)))
	for i := range changes {
		e := c.event(&changes[i])
		if e == nil {
			continue
		}
		if c.filled.Load() {
			c.store(e)
		}
		c.history.add(e)
		c.history.releaseReplaced()
		c.dispatch(e)
		c.last = changes[i].Revision
	}
	return clean && len(c.watchers.dirty) > 0
}

// event returns the shared event for a change. It is nil for the deletion of an unknown key.
func (c *Cache) event(change *storage.Change) *event {
	previous := c.previous(change)
	e := &event{Event: storage.Event{Revision: change.Revision}, at: c.mux.clock.now(), previous: previous}
	switch {
	case !change.Deleted():
		e.Type, e.Record = storage.Modified, c.record(change)
		if previous == nil {
			e.Type = storage.Added
		}
	case previous != nil:
		e.Type = storage.Deleted
		if e.Record = c.announced(change); e.Record == nil || !bytes.Equal(e.Record.Value(), previous.Value()) {
			e.Record = previous.At(change.Revision)
		}
	case c.filled.Load():
		return nil // created and deleted within the batch
	default:
		// The deleted record is unknown, so no watch may start before the deletion.
		c.history.reset(change.Revision)
		c.last = change.Revision
		c.watchers.end(storage.ErrStopped)
		return nil
	}
	return e
}

// previous returns the record before a change, or nil.
func (c *Cache) previous(change *storage.Change) *storage.Record {
	if c.filled.Load() {
		r, _ := c.tree.Get(change.Key)
		return r
	}
	if change.PrevRev == 0 {
		return nil
	}
	return storage.NewRecord(change.Key, change.Previous, change.PrevRev)
}

// store applies an event to the tree.
func (c *Cache) store(e *event) {
	if c.snapshot != nil {
		c.snapshot.next = e.Revision
		c.snapshot = nil
	}
	if e.Type == storage.Deleted {
		c.tree.Delete(e.Record.Key)
		return
	}
	c.tree.Set(e.Record.Key, e.Record)
}

// dispatch queues an event with the watches whose scope may include it.
func (c *Cache) dispatch(e *event) {
	w := &c.watchers
	if w.count == 0 {
		return
	}
	key := e.Record.Key
	w.push(w.all, e)
	if len(w.byNamespace) > 0 {
		w.push(w.byNamespace[c.namespace(key)], e)
	}
	if len(w.byKey) > 0 {
		w.push(w.byKey[key], e)
	}
	if len(w.byValue) > 0 {
		value, previous := c.value(e.Record), c.value(e.previous)
		w.push(w.byValue[value], e)
		if e.previous != nil && previous != value {
			w.push(w.byValue[previous], e)
		}
	}
}

// value returns a record's value of the index field.
func (c *Cache) value(r *storage.Record) string {
	if r == nil {
		return ""
	}
	fields, err := r.Fields(c.cfg.Fields)
	if err != nil {
		return ""
	}
	return fields.Get(c.cfg.IndexField)
}

// wake wakes the watches that received events in the batch. Only the multiplexer's goroutine calls it.
func (c *Cache) wake() {
	c.mu.Lock()
	dirty := c.watchers.dirty
	c.watchers.dirty = c.watchers.spare[:0]
	c.mu.Unlock()
	for i, w := range dirty {
		w.signal()
		dirty[i] = nil
	}
	c.watchers.spare = dirty
}

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
	r := c.announced(change)
	if r == nil || !bytes.Equal(r.Value(), change.Value) {
		r = storage.NewRecord(change.Key, change.Value, change.Revision)
	}
	return r.Compressed()
}

// announced returns the record that the writer of a change has announced, or nil. Its value may be another one.
func (c *Cache) announced(change *storage.Change) *storage.Record {
	r, ok := c.expected[change.Key]
	if !ok || r.Revision > change.Revision {
		return nil
	}
	delete(c.expected, change.Key)
	if r.Revision != change.Revision {
		return nil
	}
	return r
}
