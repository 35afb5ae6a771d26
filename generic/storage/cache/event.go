package cache

import (
	"sync/atomic"

	"triplane/generic/storage"
)

// event is one change of a record, shared by the history and all watches.
type event struct {
	kind storage.EventType // as seen without a selector
	at   int64             // when it was received, in nanoseconds of the hub's clock
	// record is the new state; for a deletion the last one, at the deletion's
	// revision.
	record *storage.Record
	// previous is the state before, nil for a creation.
	previous *storage.Record
	// left is previous at the event's revision: what a watch is told whose
	// selector the record ceases to match. Made on first demand.
	left atomic.Pointer[storage.Record]
}

func (e *event) revision() int64 { return e.record.Revision }

// size is about what the event keeps in memory that the tree does not.
func (e *event) size() int { return len(e.record.Value) + eventOverhead }

const eventOverhead = 256

// leaving returns previous at the event's revision.
func (e *event) leaving() *storage.Record {
	if e.kind == storage.Deleted {
		return e.record
	}
	if r := e.left.Load(); r != nil {
		return r
	}
	r := &storage.Record{Key: e.previous.Key, Value: e.previous.Value, Revision: e.revision()}
	if e.left.CompareAndSwap(nil, r) {
		return r
	}
	return e.left.Load()
}
