package storage

import (
	"context"
	"time"
)

// KeyValue is one revision of one key as the backend holds it, after any
// decryption.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // modification revision
}

// Backend is the key space of one etcd cluster (or of the embedded member).
// All methods are safe for concurrent use and honour the context.
type Backend interface {
	// Get reads a key linearizably. It returns ErrNotFound if it does not exist.
	Get(ctx context.Context, key string) (KeyValue, error)

	// Range reads keys in order.
	Range(ctx context.Context, opts RangeOptions) (RangeResult, error)

	// Create writes a key that must not exist yet and returns its revision, or
	// ErrExists. A ttl of 0 means no lease.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error)

	// Update replaces the value of a key whose revision must still be expected,
	// and returns the new revision, or a *ConflictError that carries what is
	// there now.
	Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64, error)

	// Delete removes a key whose revision must still be expected and returns the
	// revision of the deletion, or a *ConflictError.
	Delete(ctx context.Context, key string, expected int64) (int64, error)

	// Watch streams all changes to keys under prefix after the revision from. It
	// ends with ctx or with an error: ErrCompacted when the history is gone.
	Watch(ctx context.Context, prefix string, from int64) (ChangeStream, error)

	// Revision returns a revision that is at least that of every write
	// acknowledged, by any replica, before the call.
	Revision(ctx context.Context) (int64, error)

	// RequestProgress asks open watches to report, soon, how far they are.
	// It is a no-op where the watch is always current.
	RequestProgress(ctx context.Context) error

	// Compact drops the history before the revision.
	Compact(ctx context.Context, revision int64) error

	// DatabaseSize is the size of the backend's file in bytes.
	DatabaseSize(ctx context.Context) (int64, error)
}

// RangeOptions selects keys of a Range.
type RangeOptions struct {
	Prefix    string
	After     string // exclusive start key, for continuing; empty for the beginning
	Limit     int64  // 0 for all
	Revision  int64  // 0 for the current one
	CountOnly bool
}

// RangeResult is a page of keys at one revision.
type RangeResult struct {
	Items    []KeyValue
	Count    int64 // all keys in the range from After on, beyond Limit too
	Revision int64 // the store's revision that the answer reflects
	More     bool
}

// Change is one event of the backend's watch.
type Change struct {
	Key      string
	Value    []byte // nil for a deletion
	Previous []byte // the value before, nil for a creation or when it was compacted away
	PrevRev  int64  // revision of Previous, 0 if none
	Revision int64  // revision of this change
}

// Deleted tells whether the key was removed.
func (c *Change) Deleted() bool { return c.Value == nil }

// ChangeStream hands out the changes of a watch in order.
type ChangeStream interface {
	// Next blocks until there is something to tell. Progress is the revision up
	// to which everything has been delivered, this batch included. An error ends
	// the stream.
	Next(ctx context.Context) (changes []Change, progress int64, err error)
	Close()
}
