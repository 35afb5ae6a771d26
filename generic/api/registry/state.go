package registry

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
)

// state is what a write starts from: the value that storage holds for a key,
// nil with revision 0 where there is none.
type state struct {
	value    []byte
	revision int64
	// fresh is true where it was read from the backend for this write: an error
	// that follows from it is final.
	fresh bool
	// stale says that the value has to be written even if it is the same, since
	// it is encrypted with a key of the past. Only a fresh one knows.
	stale bool
}

func (p *state) exists() bool { return p.revision != 0 }

// peek starts from what the cache holds, which may be stale; nothing there is
// looked up.
func (s *Store[T]) peek(ctx context.Context, key string) (state, error) {
	r, err := s.cache.Peek(ctx, key)
	if err != nil || r == nil {
		return s.read(ctx, key)
	}
	return state{value: r.Value(), revision: r.Revision}, nil
}

// read asks the backend.
func (s *Store[T]) read(ctx context.Context, key string) (state, error) {
	kv, err := s.options.Backend.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return state{fresh: true}, nil
	}
	if err != nil {
		return state{}, s.readError(err)
	}
	return state{value: kv.Value, revision: kv.Revision, fresh: true, stale: kv.Stale}, nil
}

// after is what a failed transaction found.
func after(c *storage.ConflictError) state {
	if c.Current == nil {
		return state{fresh: true}
	}
	return state{value: c.Current.Value, revision: c.Current.Revision, fresh: true, stale: c.Current.Stale}
}

// refresh reads again what an outcome was computed from. changed is false where
// it was right after all.
func (s *Store[T]) refresh(ctx context.Context, key string, p state) (now state, changed bool, err error) {
	if p.fresh {
		return p, false, nil
	}
	now, err = s.read(ctx, key)
	return now, now.revision != p.revision, err
}

// confirm reads again what an outcome was computed from that no transaction checks: one that
// changes nothing. Another state is the conflict that a transaction would have met.
func (s *Store[T]) confirm(ctx context.Context, key string, p state) (state, error) {
	now, changed, err := s.refresh(ctx, key, p)
	switch {
	case err != nil:
		return p, err
	case !changed:
		return now, nil
	case !now.exists():
		return now, &storage.ConflictError{Key: key, Expected: p.revision}
	}
	return now, &storage.ConflictError{Key: key, Expected: p.revision,
		Current: &storage.KeyValue{Key: key, Value: now.value, Revision: now.revision, Stale: now.stale}}
}

// retry attempts a write, from the state that it is given at first, until one meets the state that
// it was computed from. An error that follows from what may be stale is not returned before the
// state has been read from the backend.
func (s *Store[T]) retry(ctx context.Context, key string, from state,
	attempt func(ctx context.Context, from state) (runtime.Object, bool, error)) (runtime.Object, bool, error) {
	for range maxWriteAttempts {
		obj, flag, err := attempt(ctx, from)
		if err == nil {
			return obj, flag, nil
		}
		if from, err = s.following(ctx, key, from, err); err != nil {
			return nil, false, err
		}
	}
	return nil, false, errContended(s.requested(ctx))
}

// following returns the state that a write starts from after an error, or the error that is final.
func (s *Store[T]) following(ctx context.Context, key string, from state, failed error) (state, error) {
	var conflict *storage.ConflictError
	var doubtful doubtfulError
	switch {
	case errors.As(failed, &doubtful):
		return from, doubtful.error
	case errors.As(failed, &conflict):
		return after(conflict), nil
	case errors.Is(failed, storage.ErrExists):
		// Somebody created it in between, and may have deleted it again.
		now, _, err := s.refresh(ctx, key, state{})
		return now, err
	}
	now, changed, err := s.refresh(ctx, key, from)
	if err == nil && !changed {
		err = failed
	}
	return now, err
}

// maxWriteAttempts bounds how often a write starts again because another one was
// faster.
const maxWriteAttempts = 1000

// errContended gives up a write that others always outrun.
func errContended(r schema.GroupResource) error {
	return apierrors.NewServerTimeout(r, "write", 1)
}

// isDryRun reports whether nothing is to be written.
func isDryRun(flags []string) bool { return slices.Contains(flags, metav1.DryRunAll) }
