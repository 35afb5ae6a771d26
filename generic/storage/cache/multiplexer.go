package cache

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// Multiplexer feeds the caches of a server from one watch of its backend. Its methods are safe for concurrent
// use.
type Multiplexer struct {
	backend  storage.Backend
	prefix   string // with a trailing slash
	progress *progress
	clock    *wheel
	counts   muxCounts
	patience time.Duration // how long reads wait for a revision

	started chan struct{}   // closed when the first revision is known
	stopped chan struct{}   // closed when Run returns
	fills   worker.Group    // the goroutines of fills
	ctx     context.Context // of Run; set before started is closed

	// mu is locked for reading while a batch is applied, so that caches are registered between batches.
	mu     sync.RWMutex
	caches map[string]*Cache // by prefix, without the multiplexer's own
	taps   []*Tap            // copied on write
	ended  bool
}

// muxCounts counts reopened watches, and resets of all caches because history was lost.
type muxCounts struct{ reconnects, rebuilds atomic.Int64 }

// NewMultiplexer returns a Multiplexer for the keys below prefix ("/registry"). Caches can be registered at
// once; their reads wait until Run has started.
func NewMultiplexer(backend storage.Backend, prefix string) *Multiplexer {
	m := &Multiplexer{
		backend:  backend,
		prefix:   strings.TrimSuffix(prefix, "/") + "/",
		progress: newProgress(),
		clock:    newWheel(),
		patience: freshWait,
		started:  make(chan struct{}),
		stopped:  make(chan struct{}),
		caches:   map[string]*Cache{},
	}
	m.progress.quiet = backend.AlwaysCurrent()
	return m
}

// Cache returns the cache of the keys below cfg.Prefix. The first call creates it; later calls ignore the rest
// of cfg.
func (m *Multiplexer) Cache(cfg Config) *Cache {
	route := strings.TrimPrefix(cfg.Prefix, m.prefix)
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.caches[route]; c != nil {
		return c
	}
	c := newCache(m, cfg)
	if m.ended {
		c.stop()
		return c
	}
	m.caches[route] = c
	return c
}

// Drop stops the cache of prefix, if there is one. Its watches and reads end with storage.ErrStopped. A later
// call of Cache creates another one.
func (m *Multiplexer) Drop(prefix string) {
	route := strings.TrimPrefix(prefix, m.prefix)
	m.mu.Lock()
	c := m.caches[route]
	delete(m.caches, route)
	m.mu.Unlock()
	if c != nil {
		c.stop()
	}
}

// Progress returns the revision up to which all caches are current. It is 0 before Run has started.
func (m *Multiplexer) Progress() int64 { return m.progress.load() }

// Await returns when all caches have reached a revision, or when ctx ends.
func (m *Multiplexer) Await(ctx context.Context, revision int64) error {
	return m.progress.wait(ctx, revision)
}

// Started is closed when Run has started and reads do not wait for it.
func (m *Multiplexer) Started() <-chan struct{} { return m.started }

// waitStarted returns when Run has started, or an error if it does not.
func (m *Multiplexer) waitStarted(ctx context.Context) error {
	select {
	case <-m.started:
		return nil
	case <-m.stopped:
		return storage.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Each calls f for every registered cache in random order.
func (m *Multiplexer) Each(f func(*Cache)) {
	m.mu.RLock()
	all := make([]*Cache, 0, len(m.caches))
	for _, c := range m.caches {
		all = append(all, c)
	}
	m.mu.RUnlock()
	for _, c := range all {
		f(c)
	}
}

// route returns the cache of a key, or nil. The keys of a resource are below its plural, or its group and
// plural: one or two segments after the multiplexer's prefix. The caller holds m.mu.
func (m *Multiplexer) route(key string) *Cache {
	if len(key) <= len(m.prefix) {
		return nil
	}
	below := key[len(m.prefix):]
	first := strings.IndexByte(below, '/') + 1
	if first == 0 {
		return nil
	}
	if c := m.caches[below[:first]]; c != nil {
		return c
	}
	second := strings.IndexByte(below[first:], '/') + 1
	if second == 0 {
		return nil
	}
	return m.caches[below[:first+second]]
}
