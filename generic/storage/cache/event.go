package cache

import (
	"sync/atomic"

	"triplane/generic/storage"
)

// event is one change of a record, shared by the history and all watches.
type event struct {
	storage.Event       // as seen without a selector
	at            int64 // when it was received, in nanoseconds of the multiplexer's clock
	// previous is the state before, nil for a creation.
	previous *storage.Record
	// left is previous at the event's revision: what a watch receives whose
	// selector the record ceases to match. Made on first demand.
	left atomic.Pointer[storage.Record]
}

// size is about what the event keeps in memory that the tree does not.
func (e *event) size() int { return len(e.Record.Value) + eventOverhead }

const eventOverhead = 256

// leaving returns previous at the event's revision.
func (e *event) leaving() *storage.Record {
	if e.Type == storage.Deleted {
		return e.Record
	}
	if r := e.left.Load(); r != nil {
		return r
	}
	r := &storage.Record{Key: e.previous.Key, Value: e.previous.Value, Revision: e.Revision}
	if e.left.CompareAndSwap(nil, r) {
		return r
	}
	return e.left.Load()
}
