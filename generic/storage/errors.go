package storage

import (
	"errors"
	"fmt"
)

// Errors of Backend and Cache, for errors.Is. Errors with data are types, for errors.As. A method may also
// return the context's error, or another error of the backend.
var (
	// ErrNotFound means that a key does not exist.
	ErrNotFound = errors.New("storage: key not found")
	// ErrExists means that a key to create exists already.
	ErrExists = errors.New("storage: key exists")
	// ErrCompacted means that the requested revision has been compacted.
	ErrCompacted = errors.New("storage: revision has been compacted")
	// ErrFutureRevision means that the requested revision does not exist yet.
	ErrFutureRevision = errors.New("storage: revision is in the future")
	// ErrTooLarge means that a value exceeds etcd's --max-request-bytes or the limit of the transport. Nothing
	// has been written.
	ErrTooLarge = errors.New("etcdserver: request is too large")
	// ErrUnavailable means that the backend did not respond: it cannot be reached, has no leader or is
	// overloaded.
	ErrUnavailable = errors.New("storage: the backend is unavailable")
	// ErrNotWritten is an ErrUnavailable of a write that has certainly not happened, because it was not sent.
	ErrNotWritten = fmt.Errorf("%w, and nothing was written", ErrUnavailable)
	// ErrNoSpace means that the backend has no space for a write. Nothing has been written. Reads and deletions
	// succeed.
	ErrNoSpace = errors.New("storage: no room is left in the store")
	// ErrCondition means that the Condition of a write does not hold. Nothing has been written.
	ErrCondition = errors.New("storage: the condition of the write does not hold")
	// ErrTooSlow ends the watch of a client that is too slow.
	ErrTooSlow = errors.New("storage: watcher is too slow")
	// ErrStopped ends a watch when its cache is dropped or stopped. A closed backend returns it.
	ErrStopped = errors.New("storage: it has stopped")
)

// ConflictError means that a key was not at the expected revision.
type ConflictError struct {
	Key      string
	Expected int64
	Current  *KeyValue // nil if the key does not exist
}

func (e *ConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("storage: %s: expected revision %d, but it does not exist", e.Key, e.Expected)
	}
	return fmt.Sprintf("storage: %s: expected revision %d, found %d", e.Key, e.Expected, e.Current.Revision)
}

// TransformError means that a value cannot be decrypted or encrypted.
type TransformError struct {
	Key string
	Err error
	// Revision is that of the stored value that cannot be decrypted. It is 0 if unknown, or if encryption
	// failed.
	Revision int64
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("unable to transform key %q: %v", e.Key, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// DecodeError means that a stored value cannot be decoded as an object of its kind: it is corrupt, or of an
// unknown version.
type DecodeError struct{ Err error }

func (e *DecodeError) Error() string { return e.Err.Error() }

func (e *DecodeError) Unwrap() error { return e.Err }

// TooOldError means that a watch requested a start before the history.
type TooOldError struct{ Requested, Oldest int64 }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// TooLargeError means that a read requested a revision that does not exist yet.
type TooLargeError struct{ Requested, Current int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
