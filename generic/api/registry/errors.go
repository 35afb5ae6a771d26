package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage"
)

const optimisticLockMessage = "the object has been modified; please apply your changes to the latest version and try again"

// errVersionOnCreate has no reason of the API, as with kube-apiserver.
var errVersionOnCreate = errors.New("resourceVersion should not be set on objects to be created")

// readError turns the error of a read from storage into the API's.
func (s *Store[T]) readError(err error) error {
	var large *storage.TooLargeError
	var old *storage.TooOldError
	var transform *storage.TransformError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return s.tooLarge(large)
	case errors.As(err, &old):
		return apierrors.NewResourceExpired(old.Error())
	case errors.Is(err, storage.ErrCompacted):
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case errors.Is(err, storage.ErrStopped):
		return stoppedError{apierrors.NewTooManyRequests("storage is (re)initializing", 1)}
	case errors.As(err, &transform):
		return s.unreadable(transform.Key, transform)
	case errors.Is(err, storage.ErrUnavailable):
		return unavailable("storage does not answer")
	}
	return err
}

// unavailable asks the client to try again: nothing has happened.
func unavailable(message string) error {
	status := apierrors.NewServiceUnavailable(message)
	status.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return status
}

// unreadable is what a read answers whose object cannot be decrypted or decoded
// (KEP-3926).
func (s *Store[T]) unreadable(key string, err error) error {
	key = s.shown(key)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("failed to read one or more %s from the storage: %s: %v", s.resource(), key, err),
		Details: &metav1.StatusDetails{
			Group: s.resource().Group, Kind: s.resource().Resource, Name: s.shown(s.prefix),
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse, Field: key, Message: err.Error()}},
		},
	}}
}

// writeError converts the error of a write to storage to an error of the API. If storage did not respond, the write may
// have happened: the error does not ask clients to retry.
func writeError(err error) error {
	var transform *storage.TransformError
	switch {
	case errors.As(err, &transform):
		return apierrors.NewInternalError(transform)
	case errors.Is(err, storage.ErrNoSpace):
		return noSpace()
	case errors.Is(err, storage.ErrNotWritten):
		return unavailable("storage does not answer, nothing was written")
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrStopped):
		return apierrors.NewTimeoutError("storage did not answer, the request may have been completed", 0)
	}
	return err
}

// attemptError is writeError for an attempt that others follow, unless this one was doubtful.
func attemptError(err error) error {
	if errors.Is(err, storage.ErrNotWritten) {
		return writeError(err)
	}
	for _, doubt := range []error{storage.ErrUnavailable, storage.ErrStopped, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, doubt) {
			return doubtfulError{writeError(err)}
		}
	}
	return writeError(err)
}

// doubtfulError is the error of a write that may have happened. The write is not retried: a retry could take its own
// result for another client's, or undo a later change.
type doubtfulError struct{ error }

func (e doubtfulError) Unwrap() error { return e.error }

// noSpaceError is what a write answers that the store has no room for. Trying again is of no
// use before something is deleted.
type noSpaceError struct{ *apierrors.StatusError }

func (noSpaceError) Unwrap() error { return storage.ErrNoSpace }

func noSpace() error {
	return noSpaceError{&apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInsufficientStorage,
		Reason:  "InsufficientStorage",
		Message: "the store, or its disk, is full: objects can be read and deleted, but not written before there is room",
	}}}
}

// stoppedError asks the client to try again when the cache is replaced by another
// one, or the server has shut down.
type stoppedError struct{ *apierrors.StatusError }

func (stoppedError) Unwrap() error { return storage.ErrStopped }

// tooLarge asks the client to try again when the revision may have happened.
func (s *Store[T]) tooLarge(err *storage.TooLargeError) error {
	retry := 1
	if s.options.Uncached {
		retry = 0 // only a cache may yet catch up
	}
	status := apierrors.NewTimeoutError(err.Error(), retry)
	status.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return status
}

// preconditionFailed returns why a write conflicts whose precondition about a field does not hold.
func preconditionFailed(what string, wanted, found any) string {
	return fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", what, wanted, what, found)
}

// storageConflict is what a write answers where storage has not what the request means, in kube-apiserver's words.
func (s *Store[T]) storageConflict(ctx context.Context, name, key, why string) error {
	return apierrors.NewConflict(s.requested(ctx), name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", s.shown(key), why))
}

// shown returns a key as errors show it.
func (s *Store[T]) shown(key string) string { return strings.Replace(key, s.options.Directory, "", 1) }

// key is where an object is stored.
func (s *Store[T]) key(namespace, name string) (string, error) {
	if s.kind.Namespaced && namespace == "" {
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	}
	if name == "" {
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if s.kind.Namespaced {
		if msgs := path.IsValidPathSegmentName(namespace); len(msgs) > 0 {
			return "", apierrors.NewBadRequest(fmt.Sprintf("Namespace parameter invalid: %q: %s", namespace,
				strings.Join(msgs, ";")))
		}
	}
	if msgs := path.IsValidPathSegmentName(name); len(msgs) > 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(msgs, ";")))
	}
	if s.kind.Namespaced {
		return s.prefix + namespace + "/" + name, nil
	}
	return s.prefix + name, nil
}

// notFound says that an object does not exist.
func (s *Store[T]) notFound(ctx context.Context, name string) error {
	return apierrors.NewNotFound(s.requested(ctx), name)
}
