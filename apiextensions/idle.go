package apiextensions

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// idleAfter is how long a resource keeps what was made for it when no
	// request asks for it any more.
	idleAfter = 10 * time.Minute
	// idleCheck is how often all resources are looked through.
	idleCheck = time.Minute
	// drainTime bounds how long requests wait for those that began before their
	// CRD changed. Those that take longer (they wait for a webhook) have read from
	// the cache what they need.
	drainTime = time.Second
)

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
	for res := range h.catalogue.all() {
		if s := res.state.serving.Load(); s != nil && s.idle(since) && h.dropUnused(res, s) {
			dropped++
		}
	}
	return dropped
}

func (s *serving) idle(since time.Time) bool {
	return !s.used() && s.lastUsed.Load() < since.Unix()
}

func (s *serving) used() bool { return s.active.Load() > 0 || s.watches.Load() > 0 }

// dropUnused takes the serving away first, and only then looks whether a request
// got hold of it: requests count themselves before they look whether it is still
// there, so one of both sees the other.
func (h *crHandler) dropUnused(res *resource, s *serving) bool {
	res.state.mu.Lock()
	defer res.state.mu.Unlock()
	if !res.state.serving.CompareAndSwap(s, nil) {
		return false
	}
	if s.used() {
		res.state.serving.Store(s)
		return false
	}
	h.dropCache(res, s)
	return true
}
