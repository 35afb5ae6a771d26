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

// Multiplexer feeds the caches of a server from one watch of its backend. Its methods
// are safe for concurrent use.
type Multiplexer struct {
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
	caches map[string]*Cache // by the prefix below the multiplexer's own
	taps   []*Tap            // replaced as a whole
	ended  bool
}

// hubCounts are how often a watch was opened again, and all caches began anew since history was
// lost.
type hubCounts struct{ reconnects, rebuilds atomic.Int64 }

// NewMultiplexer returns a Multiplexer for the keys below prefix ("/registry"). Caches can be
// registered at once; their reads wait until Run has begun.
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

// Cache returns the cache of the keys below cfg.Prefix, making it on first use.
// When there is one already, the rest of cfg is not looked at.
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

// Drop ends the cache of prefix, if there is one: its watches and reads end with
// storage.ErrStopped. A later Cache with the prefix makes a new one.
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

// Progress is the revision up to which all caches are current; 0 before Run has
// begun.
func (m *Multiplexer) Progress() int64 { return m.progress.load() }

// Await returns when all caches are current up to a revision, or ctx ends.
func (m *Multiplexer) Await(ctx context.Context, revision int64) error {
	return m.progress.wait(ctx, revision)
}

// Started is closed when the multiplexer has begun and reads are answered.
func (m *Multiplexer) Started() <-chan struct{} { return m.started }

// begun returns when the multiplexer has begun, or why it will not.
func (m *Multiplexer) begun(ctx context.Context) error {
	select {
	case <-m.started:
		return nil
	case <-m.stopped:
		return storage.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Each calls f with every registered cache, in no particular order.
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

// route finds the cache of a key. A resource's keys are below its plural, or its
// group and plural: one or two segments below the multiplexer's prefix. m.mu is held.
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
