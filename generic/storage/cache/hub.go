package cache

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triplane/generic/storage"
	"triplane/internal/worker"
)

// Hub feeds the caches of a server from one watch of its backend. Its methods
// are safe for concurrent use.
type Hub struct {
	backend  storage.Backend
	prefix   string // with a trailing slash
	progress *progress
	clock    *wheel
	counts   hubCounts
	patience time.Duration // of reads that wait for a revision

	started chan struct{}   // closed when the first revision is known
	stopped chan struct{}   // closed when Run returns
	fills   worker.Group    // goroutines that fill caches
	ctx     context.Context // of Run, once started is closed

	// mu is held for reading while a batch is applied, so that a cache is
	// registered between two batches.
	mu     sync.RWMutex
	caches map[string]*Cache // by the prefix below the hub's own
	taps   []*Tap            // replaced as a whole
	ended  bool
}

// hubCounts are how often a watch was opened again, and all caches began anew since history was
// lost.
type hubCounts struct{ reconnects, rebuilds atomic.Int64 }

// NewHub returns a Hub for the keys below prefix ("/registry"). Caches can be
// registered at once; their reads wait until Run has begun.
func NewHub(backend storage.Backend, prefix string) *Hub {
	h := &Hub{
		backend:  backend,
		prefix:   strings.TrimSuffix(prefix, "/") + "/",
		progress: newProgress(),
		clock:    newWheel(),
		patience: freshWait,
		started:  make(chan struct{}),
		stopped:  make(chan struct{}),
		caches:   map[string]*Cache{},
	}
	h.progress.quiet = backend.AlwaysCurrent()
	return h
}

// Cache returns the cache of the keys below cfg.Prefix, making it on first use.
// When there is one already, the rest of cfg is not looked at.
func (h *Hub) Cache(cfg Config) *Cache {
	route := strings.TrimPrefix(cfg.Prefix, h.prefix)
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.caches[route]; c != nil {
		return c
	}
	c := newCache(h, cfg)
	if h.ended {
		c.stop()
		return c
	}
	h.caches[route] = c
	return c
}

// Drop ends the cache of prefix, if there is one: its watches and reads end with
// storage.ErrStopped. A later Cache with the prefix makes a new one.
func (h *Hub) Drop(prefix string) {
	route := strings.TrimPrefix(prefix, h.prefix)
	h.mu.Lock()
	c := h.caches[route]
	delete(h.caches, route)
	h.mu.Unlock()
	if c != nil {
		c.stop()
	}
}

// Progress is the revision up to which all caches are current; 0 before Run has
// begun.
func (h *Hub) Progress() int64 { return h.progress.load() }

// Await returns when all caches are current up to a revision, or ctx ends.
func (h *Hub) Await(ctx context.Context, revision int64) error { return h.progress.wait(ctx, revision) }

// Started is closed when the hub has begun and reads are answered.
func (h *Hub) Started() <-chan struct{} { return h.started }

// begun returns when the hub has begun, or why it will not.
func (h *Hub) begun(ctx context.Context) error {
	select {
	case <-h.started:
		return nil
	case <-h.stopped:
		return storage.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Each calls f with every registered cache, in no particular order.
func (h *Hub) Each(f func(*Cache)) {
	h.mu.RLock()
	all := make([]*Cache, 0, len(h.caches))
	for _, c := range h.caches {
		all = append(all, c)
	}
	h.mu.RUnlock()
	for _, c := range all {
		f(c)
	}
}

// route finds the cache of a key. A resource's keys are below its plural, or its
// group and plural: one or two segments below the hub's prefix. h.mu is held.
func (h *Hub) route(key string) *Cache {
	if len(key) <= len(h.prefix) {
		return nil
	}
	below := key[len(h.prefix):]
	first := strings.IndexByte(below, '/') + 1
	if first == 0 {
		return nil
	}
	if c := h.caches[below[:first]]; c != nil {
		return c
	}
	second := strings.IndexByte(below[first:], '/') + 1
	if second == 0 {
		return nil
	}
	return h.caches[below[:first+second]]
}
