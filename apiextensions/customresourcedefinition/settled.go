package customresourcedefinition

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
)

// settleTime bounds how long a request waits for the controller.
const settleTime = 10 * time.Second

// Settled is the revision up to which the controller has looked at the changes of
// CRDs. It is safe for concurrent use.
type Settled struct {
	mu       sync.Mutex
	revision int64
	advanced chan struct{} // closed when the revision moves
}

// NewSettled returns one that has seen nothing.
func NewSettled() *Settled { return &Settled{advanced: make(chan struct{})} }

// Reach moves the revision on.
func (s *Settled) Reach(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision > s.revision {
		s.revision = revision
		close(s.advanced)
		s.advanced = make(chan struct{})
	}
}

// Wait returns when the revision is reached, the context ends, or the controller takes too long.
func (s *Settled) Wait(ctx context.Context, revision int64) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		s.mu.Lock()
		reached, advanced := s.revision >= revision, s.advanced
		s.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return
		}
	}
}

// updateFunc is rest.Resource.Update.
type updateFunc = func(ctx context.Context, r rest.UpdateRequest) (runtime.Object, bool, error)

// after returns an update of the status of CRDs that waits for the controller. It puts back
// conditions that a client removes, and names that it changes; a write is answered
// when that is done, so that what the client reads next does not change again
// under it.
func (s *Settled) after(update updateFunc) updateFunc {
	return func(ctx context.Context, r rest.UpdateRequest) (runtime.Object, bool, error) {
		obj, created, err := update(ctx, r)
		if written, ok := obj.(rest.Stored); ok && err == nil {
			if revision, parseErr := strconv.ParseInt(written.ResourceVersion(), 10, 64); parseErr == nil {
				s.Wait(ctx, revision)
			}
		}
		return obj, created, err
	}
}
