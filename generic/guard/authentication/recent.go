package authentication

import "sync"

// recent is a bounded map with two generations. When the fresh generation reaches limit, it replaces the old
// one, whose entries are dropped.
type recent[K comparable, V any] struct {
	limit int // of a generation

	mu         sync.RWMutex
	fresh, old map[K]V
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if v, ok := r.fresh[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh == nil || len(r.fresh) >= r.limit {
		r.fresh, r.old = map[K]V{}, r.fresh
	}
	r.fresh[key] = v
}
