package apiextensions

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// drainTime bounds how long requests wait for those that began before their CRD
// changed. Those that take longer (they wait for a webhook) have read from the
// cache what they need.
const drainTime = time.Second

// errReplaced is the error of an endpoint whose CRD was changed or deleted.
var errReplaced = errors.New("the custom resource definition has changed")

// acquire returns the endpoint of a resource. Before it is released, it is not dropped for being idle. After a change of
// the CRD it serves its requests for drainTime, and its watches end.
func (h *crHandler) acquire(ctx context.Context, res *entry, watch bool) (*endpoint, error) {
	for {
		s, err := h.endpoint(ctx, res)
		switch {
		case errors.Is(err, errReplaced):
			now := h.catalogue.find(res.groupResource())
			if now == nil || now.generation == res.generation {
				return nil, apierrors.NewNotFound(res.groupResource(), "")
			}
			res = now
			continue
		case err != nil:
			return nil, err
		}
		s.users(watch).Add(1)
		if res.generation.endpoint.Load() == s {
			return s, nil
		}
		s.release(watch) // it was dropped in between
	}
}

// users returns the count of the watches, or of the other requests, that use the endpoint.
func (s *endpoint) users(watch bool) *atomic.Int64 {
	if watch {
		return &s.watches
	}
	return &s.active
}

// release ends a use.
func (s *endpoint) release(watch bool) {
	s.lastUsed.Store(time.Now().Unix())
	if s.users(watch).Add(-1) == 0 && !watch && s.retired.Load() {
		s.end()
	}
}

// retire calls finish when no request but watches is under way any more, or after
// drainTime. Nobody begins to use the endpoint from now on.
func (s *endpoint) retire(finish func()) {
	s.finish = finish
	s.retired.Store(true)
	if s.active.Load() == 0 {
		s.end()
		return
	}
	time.AfterFunc(drainTime, s.end)
}

func (s *endpoint) end() {
	s.once.Do(func() {
		s.finish()
		close(s.ended)
	})
}
