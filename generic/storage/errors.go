package storage

import (
	"errors"
	"fmt"
)

// Errors of Backend and Cache, matched with errors.Is; those that carry data are
// types, matched with errors.As. A method may also return the context's error, or
// one of the backend's own that has no name here.
var (
	// ErrNotFound says that a key does not exist.
	ErrNotFound = errors.New("storage: key not found")
	// ErrExists says that a key to be created exists already.
	ErrExists = errors.New("storage: key exists")
	// ErrCompacted says that the asked-for revision is no longer kept.
	ErrCompacted = errors.New("storage: revision has been compacted")
	// ErrFutureRevision says that the asked-for revision has not happened yet.
	ErrFutureRevision = errors.New("storage: revision is in the future")
	// ErrTooLarge says that the backend does not take a value of that size: it
	// is larger than etcd's --max-request-bytes, or than what the transport
	// carries. Nothing has been written.
	ErrTooLarge = errors.New("etcdserver: request is too large")
	// ErrUnavailable says that the backend did not answer: it cannot be reached,
	// has no leader or is overloaded.
	ErrUnavailable = errors.New("storage: the backend is unavailable")
	// ErrNotWritten is the ErrUnavailable of a write that certainly has not happened: the backend was not
	// given it.
	ErrNotWritten = fmt.Errorf("%w, and nothing was written", ErrUnavailable)
	// ErrNoSpace says that the backend has no room for a write. Nothing has been
	// written; reads and deletions work.
	ErrNoSpace = errors.New("storage: no room is left in the store")
	// ErrTooSlow ends the watch of a client that does not keep up.
	ErrTooSlow = errors.New("storage: watcher is too slow")
	// ErrStopped ends a watch when its cache is dropped or shut down, and is what a backend
	// answers that was closed.
	ErrStopped = errors.New("storage: it has stopped")
)

// ConflictError says that a key was not at the expected revision.
type ConflictError struct {
	Key      string
	Expected int64
	Current  *KeyValue // nil if the key does not exist any more
}

func (e *ConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("storage: %s: expected revision %d, but it does not exist", e.Key, e.Expected)
	}
	return fmt.Sprintf("storage: %s: expected revision %d, found %d", e.Key, e.Expected, e.Current.Revision)
}

// TransformError says that a value cannot be decrypted, or not be encrypted.
type TransformError struct {
	Key string
	Err error
	// Revision is that of the stored value that cannot be decrypted; 0 where it is
	// not known, or the value was to be encrypted.
	Revision int64
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("unable to transform key %q: %v", e.Key, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// DecodeError says that a stored value is no object of the kind that is kept at its
// key: a part of it is missing or changed, or it is of a version that nobody knows.
type DecodeError struct{ Err error }

func (e *DecodeError) Error() string { return e.Err.Error() }

func (e *DecodeError) Unwrap() error { return e.Err }

// TooOldError says that a watch asked to start before the kept history.
type TooOldError struct{ Requested, Oldest int64 }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// TooLargeError says that a read asked for a revision that has not happened.
type TooLargeError struct{ Requested, Current int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
