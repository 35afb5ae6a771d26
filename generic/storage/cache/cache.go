package cache

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"triplane.dev/generic/storage"
)

// Cache is the cache of one resource. Multiplexer.Cache creates it.
type Cache struct {
	mux     *Multiplexer
	cfg     Config
	backend storage.Backend // the multiplexer's, or the View

	filled atomic.Bool // the tree has all records; written with mu held
	counts cacheCounts

	mu       sync.RWMutex
	stopped  bool
	epoch    int // number of resets, so that a fill notices one
	filling  *filling
	lost     lost
	tree     *btree.Map[string, *storage.Record]
	last     int64 // revision of the last event, or the start of the history
	snapshot *snapshot
	kept     []*snapshot
	history  history
	watchers index
	expected map[string]*storage.Record
}

type cacheCounts struct {
	events, fills, lists, listed, initial, consistent, behind atomic.Int64
	waits, filled                                             durations
}

// Stats are the statistics of a cache since its creation.
type Stats struct {
	Filled  bool
	Records int   // 0 if not filled
	Events  int64 // received events
	Fills   int64
	Lists   int64
	Listed  int64 // records in results of lists
	Initial int64 // initial events of watches
	// Consistent counts consistent reads. Behind counts those that failed because the cache did not catch up
	// with the backend.
	Consistent, Behind int64
	Waits, Filling     Durations
	Watches            int   // running watches
	Capacity           int   // of the history, in events
	Revision           int64 // of the last event, or up to which there are none
}

func newCache(m *Multiplexer, cfg Config) *Cache {
	now := m.progress.load()
	c := &Cache{mux: m, cfg: cfg, backend: m.backend, tree: newTree(), last: now, history: history{from: now}}
	if cfg.View != nil {
		c.backend = cfg.View
	}
	return c
}

func newTree() *btree.Map[string, *storage.Record] {
	return btree.NewMap[string, *storage.Record](0)
}

var _ storage.Cache = (*Cache)(nil)

// reset drops all records and the history up to a revision, and ends all watches.
func (c *Cache) reset(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.clear(revision)
	c.watchers.end(storage.ErrStopped)
}

// clear drops all records and the history.
func (c *Cache) clear(revision int64) {
	c.filled.Store(false)
	c.tree = newTree()
	c.snapshot, c.kept, c.expected = nil, nil, nil
	c.history.reset(revision)
	c.last = revision
}

// stop stops the cache for good.
func (c *Cache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.epoch++
	c.clear(0)
	c.watchers.end(storage.ErrStopped)
}

// Count implements storage.Cache.
func (c *Cache) Count() (int64, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return int64(c.tree.Len()), c.filled.Load()
}

// Watching implements storage.Cache.
func (c *Cache) Watching(namespace, name string) int {
	prefix := c.cfg.Prefix
	if c.cfg.Namespaced {
		prefix += namespace + "/"
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := len(c.watchers.all) + len(c.watchers.byKey[prefix+name])
	if c.cfg.Namespaced {
		n += len(c.watchers.byNamespace[prefix])
	}
	return n
}

// Stats returns the cache's statistics.
func (c *Cache) Stats() Stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{
		Filled:  c.filled.Load(),
		Records: c.tree.Len(),
		Events:  c.counts.events.Load(),
		Fills:   c.counts.fills.Load(),
		Lists:   c.counts.lists.Load(),
		Listed:  c.counts.listed.Load(),
		Initial: c.counts.initial.Load(),
		Behind:  c.counts.behind.Load(),
		Waits:   c.counts.waits.load(waitBounds),
		Filling: c.counts.filled.load(fillBounds),

		Consistent: c.counts.consistent.Load(),

		Watches:  c.watchers.count,
		Capacity: len(c.history.ring),
		Revision: c.last,
	}
}

// namespace returns the Prefix of lists and watches of the key's namespace, or "" for cluster-scoped resources.
func (c *Cache) namespace(key string) string {
	if !c.cfg.Namespaced || len(key) < len(c.cfg.Prefix) {
		return ""
	}
	i := strings.IndexByte(key[len(c.cfg.Prefix):], '/')
	if i < 0 {
		return ""
	}
	return key[:len(c.cfg.Prefix)+i+1]
}

// Config configures a cache of a Multiplexer.
type Config struct {
	storage.CacheConfig
	// View, if set, reads and writes the values of the resource in place of the multiplexer's backend.
	View View
}

// View is a backend for one resource that transforms values, for example encrypts them.
type View interface {
	storage.Backend
	// Decode transforms a change of the underlying backend in place. It omits a Previous that cannot be
	// decrypted.
	//
	//   - *storage.TransformError: the change's new value cannot be decrypted.
	Decode(change *storage.Change) error
}
