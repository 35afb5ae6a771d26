package storage

import (
	"context"
	"time"
)

// Backend is the key space of one etcd cluster, or of the embedded member, or a
// view of it. All methods are safe for concurrent use and honour the context.
//
// Besides the errors that are named at a method, each may return the context's
// error, ErrUnavailable where the backend does not answer, ErrStopped where it was
// closed, and errors of the backend that have no name here. After an error of
// the last four kinds a write may have happened all the same.
type Backend interface {
	// Get reads a key linearizably.
	//
	//   - ErrNotFound: the key does not exist.
	//   - *TransformError: its value cannot be decrypted; it carries the revision.
	Get(ctx context.Context, key string) (KeyValue, error)

	// Range reads keys in order, all at one revision. A value that cannot be
	// decrypted is the Err of its item.
	//
	//   - ErrCompacted: opts.Revision is no longer kept.
	//   - ErrFutureRevision: opts.Revision has not happened.
	Range(ctx context.Context, opts RangeOptions) (RangeResult, error)

	// Create writes a key that must not exist yet and returns its revision. A
	// ttl of 0 means no lease. The value is not changed, nor kept.
	//
	//   - ErrExists: the key exists.
	//   - *TransformError: the value cannot be encrypted.
	//   - ErrTooLarge: the value is too large; nothing has been written.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error)

	// Update replaces the value of a key whose revision must still be expected,
	// and returns the new revision. A ttl of 0 frees the key from its lease.
	//
	//   - *ConflictError: the key is at another revision, which the error
	//     carries, or gone.
	//   - *TransformError: the value cannot be encrypted, and nothing has been
	//     written; or there is a conflict, and what is there cannot be decrypted.
	//   - ErrTooLarge: the value is too large; nothing has been written.
	Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64, error)

	// Delete removes a key whose revision must still be expected and returns the
	// revision of the deletion.
	//
	//   - *ConflictError: the key is at another revision, or gone.
	//   - *TransformError: there is a conflict, and what is there cannot be
	//     decrypted.
	Delete(ctx context.Context, key string, expected int64) (int64, error)

	// Watch streams all changes to keys under prefix after the revision from,
	// until ctx ends. What a key was before is included where it is known, and at
	// least where needPrevious, if it is set, returns true: it costs the
	// embedded backend a read.
	//
	//   - ErrCompacted: the history after from is gone, if that is known at once.
	Watch(ctx context.Context, prefix string, from int64, needPrevious func(key string) bool) (ChangeStream, error)

	// Revision returns a revision that is at least that of every write
	// acknowledged, by any replica, before the call.
	Revision(ctx context.Context) (int64, error)

	// RequestProgress asks open watches to report, soon, how far they are.
	RequestProgress(ctx context.Context) error

	// AlwaysCurrent reports whether watches report every revision by
	// themselves: RequestProgress then does nothing, and need not be called.
	AlwaysCurrent() bool

	// Compact drops the history before the revision.
	//
	//   - ErrCompacted: it is gone already.
	//   - ErrFutureRevision: the revision has not happened.
	Compact(ctx context.Context, revision int64) error

	// DatabaseSize is the size of the backend's file in bytes.
	DatabaseSize(ctx context.Context) (int64, error)
}

// ChangeStream hands out the changes of a watch in order. It belongs to one
// goroutine.
type ChangeStream interface {
	// Next blocks until something has happened. Progress is the revision up to
	// which everything has been delivered, this batch included; all changes of
	// one revision come in one batch. The changes are valid until the next call.
	// An error ends the stream.
	//
	//   - ErrCompacted: the history that comes next is gone.
	//   - ErrUnavailable, ErrStopped, the context's error, and others: the stream
	//     broke, and may be opened again after the last progress.
	Next(ctx context.Context) (changes []Change, progress int64, err error)
	// Close frees what the stream holds; it is safe to call twice.
	Close()
}

// Cache serves the reads of one resource from memory. It fills itself on first
// use. All methods are safe for concurrent use.
//
// Besides the errors that are named at a method, each that takes a context may
// return the context's error, those of the Backend that fills the cache, and
// ErrStopped when the cache has been dropped.
type Cache interface {
	// Get returns the record at key. For NotOlderThan with a revision that has
	// not happened it waits a little.
	//
	//   - ErrNotFound: there is none.
	//   - *TooLargeError: the revision has not happened.
	Get(ctx context.Context, key string, fresh Freshness) (*Record, error)

	// Peek returns what the cache holds now without waiting, nil if nothing: a
	// starting point for an optimistic write.
	Peek(ctx context.Context, key string) (*Record, error)

	// List returns records in key order.
	//
	//   - ErrCompacted: the Exact revision is gone.
	//   - *TooLargeError: the revision has not happened.
	List(ctx context.Context, opts ListOptions) (List, error)

	// Watch starts a watch.
	//
	//   - *TooOldError: the history after opts.Revision is not kept.
	//   - *TooLargeError: initial events at a revision that has not happened.
	Watch(ctx context.Context, opts WatchOptions) (Watch, error)

	// Count is the number of records held; false while the cache is not filled.
	// It does not wait.
	Count() (int64, bool)

	// Watching is how many watches see the changes of an object: those of all
	// objects, of its namespace and of itself. Watches of values of a field are
	// not among them.
	Watching(namespace, name string) int

	// Expect announces a record that has just been written. When the watch
	// brings it, the cache keeps this Record, with the forms it has, instead of
	// making one of its own: so the answer to the writer, the cache and all
	// watchers share the bytes. If the watch was faster, its record takes over
	// the forms.
	Expect(*Record)
}

// Watch is a running watch. It belongs to one goroutine.
type Watch interface {
	// Next blocks until there are events and returns those at hand, in order.
	// The slice is valid until the next call.
	//
	//   - ErrTooSlow: the watcher fell too far behind.
	//   - ErrStopped: the cache went away, or began anew.
	Next(ctx context.Context) ([]Event, error)
	// Initializing reports whether Next still has initial events to return.
	Initializing() bool
	// Stop releases the watch; it is safe to call twice.
	Stop()
}
