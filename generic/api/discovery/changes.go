package discovery

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/internal/worker"
)

// Following is a runner that calls a function with the versions that were set or removed, so that a follower has work
// for what changed and not for all versions.
type Following struct {
	groups *Groups
	f      func(context.Context, []schema.GroupVersion)
	work   *worker.Demand
	ended  chan struct{} // closed after the end of the context of Start

	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // of Start
	dirty map[schema.GroupVersion]struct{}
}

// Following returns a runner that calls f with all versions that are present at its start, and then with those that
// changed, each once. It never calls f twice at the same time.
func (g *Groups) Following(f func(context.Context, []schema.GroupVersion)) *Following {
	s := &Following{groups: g, f: f, ended: make(chan struct{}), dirty: map[schema.GroupVersion]struct{}{}}
	s.work = worker.NewDemand(s.step)
	return s
}

// Start implements worker.Runner.
func (s *Following) Start(ctx context.Context) {
	g := s.groups
	g.mu.Lock()
	s.ctx = ctx
	for _, e := range g.groups {
		for _, v := range e.versions {
			s.dirty[v.GroupVersion] = struct{}{}
		}
	}
	if g.followers == nil {
		g.followers = map[*Following]struct{}{}
	}
	g.followers[s] = struct{}{}
	g.mu.Unlock()
	s.work.Request()
	context.AfterFunc(ctx, s.end)
}

// Wait implements worker.Runner.
func (s *Following) Wait() {
	<-s.ended
	s.work.Wait()
}

func (s *Following) end() {
	s.groups.mu.Lock()
	delete(s.groups.followers, s)
	s.groups.mu.Unlock()
	close(s.ended)
}

func (s *Following) step() {
	if s.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	changed := slices.Collect(maps.Keys(s.dirty))
	s.dirty = map[schema.GroupVersion]struct{}{} // the first one has all versions
	s.mu.Unlock()
	s.f(s.ctx, changed)
}

// notify adds a version to the changes of all followers. The caller holds g.mu.
func (g *Groups) notify(gv schema.GroupVersion) {
	for s := range g.followers {
		s.mu.Lock()
		s.dirty[gv] = struct{}{}
		s.mu.Unlock()
		s.work.Request()
	}
}
