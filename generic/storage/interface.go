package storage

import (
	"context"
	"time"
)

// Backend is the key space of an etcd cluster, of the embedded member, or a view of one of them. All methods
// are safe for concurrent use and end with the context.
//
// In addition to its documented errors, each method may return:
//
//   - the context's error
//   - ErrUnavailable if the backend does not respond
//   - ErrStopped after Close
//   - other errors of the backend
//
// After one of these a write may have happened nevertheless.
//
// Create, Update and Delete write nothing and return ErrCondition if the Condition of their context does not hold.
type Backend interface {
	// Get reads a key linearizably.
	//
	//   - ErrNotFound: the key does not exist.
	//   - *TransformError: its value cannot be decrypted. The error has the revision.
	Get(ctx context.Context, key string) (KeyValue, error)

	// Range reads keys in order, all at one revision. If a value cannot be decrypted, its item has an Err.
	//
	//   - ErrCompacted: opts.Revision has been compacted.
	//   - ErrFutureRevision: opts.Revision does not exist yet.
	Range(ctx context.Context, opts RangeOptions) (RangeResult, error)

	// Create writes a key that must not exist and returns its revision. A ttl of 0 means no lease. The value is
	// neither changed nor retained.
	//
	//   - ErrExists: the key exists.
	//   - *TransformError: the value cannot be encrypted.
	//   - ErrTooLarge: the value is too large; nothing has been written.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error)

	// Update replaces the value of a key at the revision expected, and returns the new revision. A ttl of 0
	// detaches the key from its lease.
	//
	//   - *ConflictError: the key is at another revision, which the error has, or does not exist.
	//   - *TransformError: the value cannot be encrypted, and nothing has been written; or there is a conflict, and the
	//     current value cannot be decrypted.
	//   - ErrTooLarge: the value is too large; nothing has been written.
	Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64, error)

	// Delete deletes a key at the revision expected and returns the revision of the deletion.
	//
	//   - *ConflictError: the key is at another revision or does not exist.
	//   - *TransformError: there is a conflict, and the current value cannot be decrypted.
	Delete(ctx context.Context, key string, expected int64) (int64, error)

	// Watch streams all changes of keys below prefix after the revision from, until ctx ends. A change has the
	// previous value if that is known. It always has it if needPrevious is nil or returns true for the key,
	// unless it is compacted. The embedded backend needs a read for it.
	//
	//   - ErrCompacted: changes after from have been compacted, if that is known at once.
	Watch(ctx context.Context, prefix string, from int64, needPrevious func(key string) bool) (ChangeStream, error)

	// Revision returns a revision at or after every write, by any replica, that was acknowledged before the
	// call.
	Revision(ctx context.Context) (int64, error)

	// RequestProgress makes open watches report their progress soon.
	RequestProgress(ctx context.Context) error

	// AlwaysCurrent reports whether watches report every revision without RequestProgress, which then does
	// nothing.
	AlwaysCurrent() bool

	// Compact removes the history before the revision.
	//
	//   - ErrCompacted: it has been compacted already.
	//   - ErrFutureRevision: the revision does not exist yet.
	Compact(ctx context.Context, revision int64) error

	// DatabaseSize returns the size of the backend's file in bytes.
	DatabaseSize(ctx context.Context) (int64, error)
}

// ChangeStream delivers the changes of a watch in order. It is not safe for concurrent use.
type ChangeStream interface {
	// Next blocks until there are changes or progress. progress is the revision up to which all changes have
	// been delivered, including this batch. All changes of one revision are in the same batch. The changes are
	// valid until the next call. The stream ends with an error.
	//
	//   - ErrCompacted: the next changes have been compacted.
	//   - ErrUnavailable, ErrStopped, the context's error, and others: the stream broke. The caller may open another one
	//     after the last progress.
	Next(ctx context.Context) (changes []Change, progress int64, err error)
	// Close releases the stream. It may be called twice.
	Close()
}

// Cache serves the reads of one resource from memory. The first read fills it. All methods are safe for
// concurrent use.
//
// In addition to its documented errors, each method with a context may return the context's error, errors of
// the Backend that fills the cache, and ErrStopped after the cache was dropped.
type Cache interface {
	// Get returns the record at key. For NotOlderThan with a future revision it waits a few seconds.
	//
	//   - ErrNotFound: the key does not exist.
	//   - *TooLargeError: the revision does not exist yet.
	Get(ctx context.Context, key string, fresh Freshness) (*Record, error)

	// Peek returns the record in the cache without waiting, or nil. Optimistic writes start from it.
	Peek(ctx context.Context, key string) (*Record, error)

	// List returns records in key order.
	//
	//   - ErrCompacted: the revision for Exact has been compacted.
	//   - *TooLargeError: the revision does not exist yet.
	List(ctx context.Context, opts ListOptions) (List, error)

	// Watch starts a watch.
	//
	//   - *TooOldError: the history does not reach back to opts.Revision.
	//   - *TooLargeError: initial events at a revision that does not exist yet.
	Watch(ctx context.Context, opts WatchOptions) (Watch, error)

	// Count returns the number of records, and false if the cache is not filled. It does not wait.
	Count() (int64, bool)

	// Watching returns how many watches receive the changes of an object: those of all objects, of its
	// namespace and of the object. It does not count watches of a value of IndexField.
	Watching(namespace, name string) int

	// Expect announces a record that was just written, or deleted (then at the revision of the deletion). When
	// the change arrives in the watch, the cache uses this Record with its forms. The response to the writer, the
	// cache and all watches then share the bytes. If the change has already arrived, the cache's record adopts
	// the forms.
	Expect(*Record)
}

// NoWait is a context that is done: with it, Watch.Next returns context.Canceled if there are no events.
var NoWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Watch is a running watch. It belongs to one goroutine.
type Watch interface {
	// Next blocks until there are events and returns the available ones in order. The slice is valid until the
	// next call. If ctx is done, Next returns available events all the same, and the context's error otherwise.
	//
	//   - ErrTooSlow: the watch has too many pending events.
	//   - ErrStopped: the cache was dropped or reset.
	Next(ctx context.Context) ([]Event, error)
	// Notify makes the watch call wake whenever Next may have something to return: events, a bookmark, or an error. A
	// reader without a goroutine then calls Next with NoWait until there is nothing, as it does first after Notify.
	// wake must not block.
	Notify(wake func())
	// Initializing reports whether Next still has initial events to return.
	Initializing() bool
	// Stop releases the watch. It may be called twice.
	Stop()
}
