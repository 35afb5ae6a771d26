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

// errGone says that the CRD was changed or removed meanwhile.
var errGone = errors.New("the custom resource definition has changed")

// use returns what answers a resource, which is not dropped for being idle
// before it is released. When the CRD changes meanwhile it stays as it is for a
// while, so that the request notices nothing; watches end.
func (h *crHandler) use(ctx context.Context, res *resource, watch bool) (*serving, error) {
	for {
		s, err := h.serving(ctx, res)
		switch {
		case errors.Is(err, errGone):
			now := h.catalogue.find(res.resource())
			if now == nil || now.state == res.state {
				return nil, apierrors.NewNotFound(res.resource(), "")
			}
			res = now
			continue
		case err != nil:
			return nil, err
		}
		s.users(watch).Add(1)
		if res.state.serving.Load() == s {
			return s, nil
		}
		s.release(watch) // it was dropped in between
	}
}

// users counts those who use the serving for a watch, or for anything else.
func (s *serving) users(watch bool) *atomic.Int64 {
	if watch {
		return &s.watches
	}
	return &s.active
}

// release ends a use.
func (s *serving) release(watch bool) {
	s.lastUsed.Store(time.Now().Unix())
	if s.users(watch).Add(-1) == 0 && !watch && s.retired.Load() {
		s.end()
	}
}

// retire calls finish when no request but watches is under way any more, or after
// drainTime. Nobody begins to use the serving from now on.
func (s *serving) retire(finish func()) {
	s.finish = finish
	s.retired.Store(true)
	if s.active.Load() == 0 {
		s.end()
		return
	}
	time.AfterFunc(drainTime, s.end)
}

func (s *serving) end() {
	s.once.Do(func() {
		s.finish()
		close(s.ended)
	})
}
