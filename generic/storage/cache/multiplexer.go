package cache

import (
	"context"
	"maps"
	"slices"
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
	*feed
	prefix string // with a trailing slash

	// The maps are protected by feed.mu.
	caches   map[string]*Cache       // by prefix, without the multiplexer's own
	taps     []*Tap                  // copied on write
	children map[string]*Multiplexer // by path; only of the multiplexer that runs
}

// feed is the watch that a multiplexer and its children share.
type feed struct {
	backend  storage.Backend
	progress *progress
	clock    *wheel
	counts   muxCounts
	patience time.Duration // how long reads wait for a revision

	started chan struct{}   // closed when the first revision is known
	stopped chan struct{}   // closed when Run returns
	fills   worker.Group    // the goroutines of fills
	ctx     context.Context // of Run; set before started is closed

	// mu is locked for reading while a batch is applied, so that caches are registered between batches.
	mu    sync.RWMutex
	ended bool
}

// muxCounts counts reopened watches, and resets of all caches because history was lost.
type muxCounts struct{ reconnects, rebuilds atomic.Int64 }

// NewMultiplexer returns a Multiplexer for the keys below prefix ("/registry"). Caches can be registered at
// once; their reads wait until Run has started.
func NewMultiplexer(backend storage.Backend, prefix string) *Multiplexer {
	f := &feed{
		backend:  backend,
		progress: newProgress(),
		clock:    newWheel(),
		patience: freshWait,
		started:  make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	f.progress.quiet = backend.AlwaysCurrent()
	return newMultiplexer(f, strings.TrimSuffix(prefix, "/")+"/")
}

func newMultiplexer(f *feed, prefix string) *Multiplexer {
	return &Multiplexer{feed: f, prefix: prefix, caches: map[string]*Cache{}, children: map[string]*Multiplexer{}}
}

// First reads the first keys of the multiplexer, at most limit, with their values as they are stored.
func (m *Multiplexer) First(ctx context.Context, limit int64) (storage.RangeResult, error) {
	return m.feed.backend.Range(ctx, storage.RangeOptions{Prefix: m.prefix, Limit: limit})
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

// Filled returns the cache of prefix if it has all records, and otherwise nil.
func (m *Multiplexer) Filled(prefix string) *Cache {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := m.caches[strings.TrimPrefix(prefix, m.prefix)]
	if c == nil || !c.filled.Load() {
		return nil
	}
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
func (m *feed) waitStarted(ctx context.Context) error {
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

// childMark is the first character of a child's path. No resource begins with it.
const childMark = '.'

// Child returns a multiplexer of the keys below a path of two segments, ".DIRECTORY/NAME", which are not keys of m.
// It shares the watch and the progress of m, and has separate caches and taps. It does not run: it lasts until
// DropChild or the end of m. The first call creates it. A child has no children.
func (m *Multiplexer) Child(path string) *Multiplexer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.children[path]; c != nil {
		return c
	}
	c := newMultiplexer(m.feed, m.prefix+path+"/")
	m.children[path] = c
	return c
}

// DropChild stops the caches of a child. Its watches and reads end with storage.ErrStopped.
func (m *Multiplexer) DropChild(path string) {
	m.mu.Lock()
	c := m.children[path]
	delete(m.children, path)
	var stopped []*Cache
	if c != nil {
		stopped = slices.Collect(maps.Values(c.caches))
		clear(c.caches)
	}
	m.mu.Unlock()
	for _, cache := range stopped {
		cache.stop()
	}
}

// family returns the multiplexer and its children. The caller holds m.mu.
func (m *Multiplexer) family() []*Multiplexer {
	return append(slices.Collect(maps.Values(m.children)), m)
}

// owner returns the multiplexer of a key: m, one of its children, or nil for the keys of a child that does not exist.
// The caller holds m.mu.
func (m *Multiplexer) owner(key string) *Multiplexer {
	if len(key) <= len(m.prefix) || key[len(m.prefix)] != childMark {
		return m
	}
	below := key[len(m.prefix):]
	first := strings.IndexByte(below, '/') + 1
	second := strings.IndexByte(below[first:], '/')
	if first == 0 || second < 0 {
		return nil
	}
	return m.children[below[:first+second]]
}
