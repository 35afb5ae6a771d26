package authentication

import (
	"maps"
	"sync"
	"sync/atomic"
)

// recent is a bounded map with two generations. When the fresh generation reaches limit, it replaces the old one, whose
// entries are dropped. It is safe for concurrent use. Lookups of entries that have been found a few times before share
// no lock, because every request makes some.
type recent[K comparable, V any] struct {
	limit int // of a generation

	published atomic.Pointer[generations[K, V]] // nil at first; its maps do not change

	mu    sync.Mutex
	added map[K]*atomic.Pointer[V] // belongs to the fresh generation, but is not published yet
	found int                      // lookups that found an entry in added
}

// generations are the published entries. Their values are replaced in place.
type generations[K comparable, V any] struct{ fresh, old map[K]*atomic.Pointer[V] }

// find returns the entry of a key, or nil.
func (g *generations[K, V]) find(key K) *atomic.Pointer[V] {
	if g == nil {
		return nil
	}
	if e, ok := g.fresh[key]; ok {
		return e
	}
	return g.old[key]
}

func (r *recent[K, V]) get(key K) (v V, ok bool) {
	e := r.published.Load().find(key)
	if e == nil {
		e = r.unpublished(key)
	}
	if e == nil {
		return v, false
	}
	return *e.Load(), true
}

// unpublished is find for entries that may have been added recently. It publishes them when that takes no more time
// than the lookups since then.
func (r *recent[K, V]) unpublished(key K) *atomic.Pointer[V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.added[key]
	if e == nil {
		return r.published.Load().find(key)
	}
	if r.found++; r.found >= r.freshLen() {
		r.publish()
	}
	return e
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.added[key]
	if e == nil {
		e = r.published.Load().find(key)
	}
	if e != nil {
		e.Store(&v)
		return
	}
	if r.freshLen() >= r.limit {
		r.publish()
		r.published.Store(&generations[K, V]{old: r.published.Load().fresh})
	}
	if r.added == nil {
		r.added = map[K]*atomic.Pointer[V]{}
	}
	e = &atomic.Pointer[V]{}
	e.Store(&v)
	r.added[key] = e
}

// freshLen returns the size of the fresh generation. The caller holds mu.
func (r *recent[K, V]) freshLen() int {
	if g := r.published.Load(); g != nil {
		return len(g.fresh) + len(r.added)
	}
	return len(r.added)
}

// publish publishes the added entries. The caller holds mu.
func (r *recent[K, V]) publish() {
	next := &generations[K, V]{fresh: r.added}
	if g := r.published.Load(); g != nil {
		next.old = g.old
		if len(g.fresh) > 0 {
			next.fresh = maps.Clone(g.fresh)
			maps.Copy(next.fresh, r.added)
		}
	}
	r.published.Store(next)
	r.added, r.found = nil, 0
}
