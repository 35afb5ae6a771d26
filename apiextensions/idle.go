package apiextensions

import (
	"context"
	"time"
)

const (
	// idleAfter is how long a resource keeps what was made for it when no
	// request asks for it any more.
	idleAfter = 10 * time.Minute
	// idleCheck is how often all resources are looked through.
	idleCheck = time.Minute
)

// sweepIdle periodically drops idle endpoints and the metrics of deleted resources, with one timer for all.
func (h *crHandler) sweepIdle(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.dropIdle(now.Add(-idleAfter))
			h.forget(h.removals.take())
		}
	}
}

// dropIdle drops the compiled schemas, handlers and caches of the resources that
// have not been used since a time. It returns how many.
func (h *crHandler) dropIdle(since time.Time) (dropped int) {
	for res := range h.catalogue.all() {
		if s := res.generation.endpoint.Load(); s != nil && s.idle(since) && h.dropUnused(res, s) {
			dropped++
		}
	}
	return dropped
}

func (s *endpoint) idle(since time.Time) bool {
	return !s.used() && s.lastUsed.Load() < since.Unix()
}

func (s *endpoint) used() bool { return s.active.Load() > 0 || s.watches.Load() > 0 }

// dropUnused takes the endpoint away first, and only then looks whether a request
// got hold of it: requests count themselves before they look whether it is still
// there, so one of both sees the other.
func (h *crHandler) dropUnused(res *entry, s *endpoint) bool {
	res.generation.mu.Lock()
	defer res.generation.mu.Unlock()
	if !res.generation.endpoint.CompareAndSwap(s, nil) {
		return false
	}
	if s.used() {
		res.generation.endpoint.Store(s)
		return false
	}
	h.dropCache(res, s)
	return true
}
