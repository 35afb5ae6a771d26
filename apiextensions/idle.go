package apiextensions

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// idleAfter is how long a resource keeps what was made for it when no
	// request asks for it any more.
	idleAfter = 10 * time.Minute
	// idleCheck is how often all resources are looked through.
	idleCheck = time.Minute
)

// errGone says that the CRD was changed or removed meanwhile.
var errGone = errors.New("the custom resource definition has changed")

// use returns what answers a resource, which is not dropped for being idle
// before it is released.
func (h *crHandler) use(res *resource) (*serving, error) {
	for {
		s, err := h.serving(res)
		switch {
		case errors.Is(err, errGone):
			now := h.find(res.crd.Name)
			if now == nil || now.state == res.state {
				gr := schema.GroupResource{Group: res.crd.Spec.Group, Resource: res.crd.Spec.Names.Plural}
				return nil, apierrors.NewNotFound(gr, "")
			}
			res = now
			continue
		case err != nil:
			return nil, err
		}
		s.active.Add(1)
		if res.state.serving.Load() == s {
			return s, nil
		}
		s.release() // it was dropped in between
	}
}

// release ends a use.
func (s *serving) release() {
	s.lastUsed.Store(time.Now().Unix())
	s.active.Add(-1)
}

// sweepIdle drops what nobody uses, time and again: one timer for all resources.
func (h *crHandler) sweepIdle(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.dropIdle(now.Add(-idleAfter))
		}
	}
}

// dropIdle drops the compiled schemas, handlers and caches of the resources that
// have not been used since a time. It returns how many.
func (h *crHandler) dropIdle(since time.Time) (dropped int) {
	h.resources.Load().Scan(func(_ string, res *resource) bool {
		if s := res.state.serving.Load(); s != nil && s.idle(since) && h.dropUnused(res, s) {
			dropped++
		}
		return true
	})
	return dropped
}

func (s *serving) idle(since time.Time) bool {
	return s.active.Load() == 0 && s.lastUsed.Load() < since.Unix()
}

// dropUnused takes the serving away first, and only then looks whether a request
// got hold of it: requests count themselves before they look whether it is still
// there, so one of both sees the other.
func (h *crHandler) dropUnused(res *resource, s *serving) bool {
	res.state.mu.Lock()
	defer res.state.mu.Unlock()
	if !res.state.serving.CompareAndSwap(s, nil) {
		return false
	}
	if s.active.Load() > 0 {
		res.state.serving.Store(s)
		return false
	}
	h.dropCache(res, s)
	return true
}
