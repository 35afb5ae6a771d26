package discovery

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// changes hands each change of a Groups to its subscribers. Groups locks it.
type changes struct {
	subscribers map[*Subscription]struct{}
}

func (c *changes) add(gv schema.GroupVersion) {
	for s := range c.subscribers {
		s.add(gv)
	}
}

// Subscription says which versions were set or removed, so that a follower has
// work for what changed and not for all there is. It belongs to one goroutine.
type Subscription struct {
	groups *Groups
	wake   chan struct{}

	mu    sync.Mutex
	dirty map[schema.GroupVersion]struct{}
}

// Subscribe returns a subscription whose first Next returns all versions that
// are there now.
func (g *Groups) Subscribe() *Subscription {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &Subscription{groups: g, wake: make(chan struct{}, 1), dirty: map[schema.GroupVersion]struct{}{}}
	for name, e := range g.groups {
		for v := range e.versions {
			s.dirty[schema.GroupVersion{Group: name, Version: v}] = struct{}{}
		}
	}
	if g.changes.subscribers == nil {
		g.changes.subscribers = map[*Subscription]struct{}{}
	}
	g.changes.subscribers[s] = struct{}{}
	s.signal()
	return s
}

func (s *Subscription) add(gv schema.GroupVersion) {
	s.mu.Lock()
	s.dirty[gv] = struct{}{}
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next blocks until versions changed since the last call and returns them, each
// once. It ends with ctx.
func (s *Subscription) Next(ctx context.Context) ([]schema.GroupVersion, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.wake:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]schema.GroupVersion, 0, len(s.dirty))
	for gv := range s.dirty {
		out = append(out, gv)
	}
	clear(s.dirty)
	return out, nil
}

// Stop ends the subscription.
func (s *Subscription) Stop() {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	delete(s.groups.changes.subscribers, s)
}
