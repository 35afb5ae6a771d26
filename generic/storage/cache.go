package storage

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Match says how the Revision of a read is meant, as resourceVersion and
// resourceVersionMatch do in the API.
type Match uint8

const (
	// Consistent reads what was written before the request began.
	Consistent Match = iota
	// Any takes whatever is at hand ("0").
	Any
	// NotOlderThan takes anything at or after Revision.
	NotOlderThan
	// Exact takes the state at Revision.
	Exact
)

// Freshness is how new a read's answer has to be.
type Freshness struct {
	Match    Match
	Revision int64
}

// ListOptions selects records of one resource.
type ListOptions struct {
	Freshness
	// Prefix narrows the list: the cache's own prefix for everything, that plus
	// "NAMESPACE/" for a namespace. Key, when set, narrows it to one record.
	Prefix string
	Key    string
	// After continues behind this key (exclusive); Limit of 0 means all.
	After string
	Limit int64
	// Nil selectors select everything.
	Labels labels.Selector
	Fields fields.Selector
}

// List is the answer to a list: records in key order at one revision.
type List struct {
	Records  []*Record
	Revision int64
	// Last is the key to continue After; empty when the list is complete.
	Last string
	// Remaining counts what is left behind Last; -1 where a selector makes it
	// unknown.
	Remaining int64
}

// EventType says what happened to an object from a watcher's point of view.
type EventType uint8

const (
	Added EventType = iota
	Modified
	Deleted
	// Bookmark carries no record, only a revision.
	Bookmark
)

// Event is one change as a watcher sees it: a record whose labels start to
// match its selector is Added, one whose labels cease to match is Deleted.
type Event struct {
	Type EventType
	// Record is the new state; for Deleted the last state, whose Revision is
	// that of the deletion. Nil for a Bookmark.
	Record   *Record
	Revision int64
	// InitialEventsEnd marks the Bookmark that ends the initial events.
	InitialEventsEnd bool
}

// WatchOptions selects the events of a watch.
type WatchOptions struct {
	Prefix string
	Key    string
	// Revision is where to start after. 0 with Initial false starts with
	// synthetic Added events of any state at hand, as "resourceVersion=0" does.
	Revision int64
	// Initial asks for the present state first (sendInitialEvents=true), not
	// older than Freshness says, ended by a Bookmark if Bookmarks is set.
	Initial   bool
	Freshness Freshness
	Bookmarks bool
	// Deadline, if set, is when the client's watch will end: a last bookmark is
	// sent shortly before.
	Deadline time.Time
	Labels   labels.Selector
	Fields   fields.Selector
}

// Watch is a running watch. It belongs to one goroutine.
type Watch interface {
	// Next blocks until there are events and returns those at hand, in order.
	// It ends with ctx.Err(), or with ErrTooSlow when the watcher fell too far
	// behind, or ErrStopped when the cache went away.
	Next(ctx context.Context) ([]Event, error)
	// Stop releases the watch; it is safe to call twice.
	Stop()
}

// Cache serves the reads of one resource from memory. It fills itself on first
// use. All methods are safe for concurrent use.
type Cache interface {
	// Get returns the record at key or ErrNotFound. For NotOlderThan with a
	// revision that has not happened it waits a little, then returns a
	// *TooLargeError.
	Get(ctx context.Context, key string, fresh Freshness) (*Record, error)
	// Peek returns what the cache holds now without waiting, nil if nothing: a
	// starting point for an optimistic write.
	Peek(ctx context.Context, key string) (*Record, error)
	// List returns records in key order. Exact on a revision that is gone is
	// ErrCompacted; on one that has not happened a *TooLargeError.
	List(ctx context.Context, opts ListOptions) (List, error)
	// Watch starts a watch. Revision older than what is kept is a
	// *TooOldError, right away or from the first Next.
	Watch(ctx context.Context, opts WatchOptions) (Watch, error)
	// Count is the number of records held, without filling the cache.
	Count(ctx context.Context) (int64, error)
}

// Expecter is implemented by caches that can take over a writer's record.
type Expecter interface {
	// Expect announces a record that has just been written. When the watch
	// brings it, the cache keeps this Record, with the forms it has, instead of
	// making one of its own: so the answer to the writer, the cache and all
	// watchers share the bytes. If the watch was faster, its record takes over
	// the forms.
	Expect(*Record)
}
