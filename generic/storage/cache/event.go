package cache

import (
	"sync/atomic"

	"triplane.dev/generic/storage"
)

// event is one change of a record. The history and all watches share it.
type event struct {
	storage.Event       // for a watch without selectors
	at            int64 // time of receipt, in nanoseconds of the multiplexer's clock
	// previous is the record before, or nil for a creation.
	previous *storage.Record
	// left is previous with the event's revision, for watches whose selector no longer matches. It is created
	// on first use.
	left atomic.Pointer[storage.Record]
}

// size estimates the memory that only the event holds.
func (e *event) size() int { return e.Record.Size() + eventOverhead }

const eventOverhead = 256

// leaving returns previous with the event's revision.
func (e *event) leaving() *storage.Record {
	if e.Type == storage.Deleted {
		return e.Record
	}
	if r := e.left.Load(); r != nil {
		return r
	}
	r := e.previous.At(e.Revision)
	if e.left.CompareAndSwap(nil, r) {
		return r
	}
	return e.left.Load()
}
