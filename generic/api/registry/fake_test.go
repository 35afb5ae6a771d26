package registry

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"

	"triplane.dev/generic/storage"
)

// memory keeps all revisions of its keys; backendView and cacheView are the two
// halves of storage over it. stale, where set, is what Peek returns instead of the truth.
type memory struct {
	mu       sync.Mutex
	revision int64
	history  map[string][]storage.KeyValue // Value nil where deleted
	events   []storage.Change
	changed  chan struct{}
	compact  int64
	writes   int
	reads    int // of the backend, of one key
	stale    map[string]*storage.Record
	// unanswered has writes of what is there happen without an answer.
	unanswered bool

	config  storage.CacheConfig
	records map[string]*storage.Record // as a cache would keep them
}

func newMemory() *memory {
	return &memory{revision: 100, history: map[string][]storage.KeyValue{}, changed: make(chan struct{}),
		stale: map[string]*storage.Record{}, records: map[string]*storage.Record{}}
}

func (m *memory) options() RESTOptions {
	return RESTOptions{
		Backend: backendView{m},
		Cache: func(c storage.CacheConfig) storage.Cache {
			m.config = c
			return cacheView{m}
		},
		Prefix:                  "/registry",
		DeleteCollectionWorkers: 2,
	}
}

// at returns the newest revision of a key not after a revision.
func (m *memory) at(key string, revision int64) *storage.KeyValue {
	h := m.history[key]
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Revision <= revision {
			if h[i].Value == nil {
				return nil
			}
			return &h[i]
		}
	}
	return nil
}

func (m *memory) put(key string, value []byte) int64 {
	m.revision++
	m.writes++
	c := storage.Change{Key: key, Value: value, Revision: m.revision}
	if before := m.at(key, m.revision); before != nil {
		c.Previous, c.PrevRev = before.Value, before.Revision
	}
	m.history[key] = append(m.history[key], storage.KeyValue{Key: key, Value: value, Revision: m.revision})
	m.events = append(m.events, c)
	delete(m.stale, key)
	close(m.changed)
	m.changed = make(chan struct{})
	return m.revision
}

func (m *memory) get(key string) (storage.KeyValue, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kv := m.at(key, m.revision); kv != nil {
		return *kv, true
	}
	return storage.KeyValue{}, false
}

func (m *memory) Create(_ context.Context, key string, value []byte, _ time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at(key, m.revision) != nil {
		return 0, storage.ErrExists
	}
	return m.answer(m.put(key, value))
}

func (m *memory) expect(key string, expected int64) error {
	now := m.at(key, m.revision)
	if now != nil && now.Revision == expected {
		return nil
	}
	return &storage.ConflictError{Key: key, Expected: expected, Current: now}
}

func (m *memory) Update(_ context.Context, key string, value []byte, expected int64, _ time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(key, expected); err != nil {
		return 0, err
	}
	return m.answer(m.put(key, value))
}

func (m *memory) answer(revision int64) (int64, error) {
	if m.unanswered {
		return 0, storage.ErrUnavailable
	}
	return revision, nil
}

func (m *memory) Delete(_ context.Context, key string, expected int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(key, expected); err != nil {
		return 0, err
	}
	return m.answer(m.put(key, nil))
}

func (m *memory) Revision(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision, nil
}

func (m *memory) Range(context.Context, storage.RangeOptions) (storage.RangeResult, error) {
	return storage.RangeResult{}, nil
}
func (m *memory) RequestProgress(context.Context) error { return nil }
func (m *memory) Compact(_ context.Context, revision int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compact = revision
	return nil
}
func (m *memory) DatabaseSize(context.Context) (int64, error) { return 0, nil }

type backendView struct{ *memory }

func (b backendView) Get(_ context.Context, key string) (storage.KeyValue, error) {
	b.reads++
	kv, ok := b.get(key)
	if !ok {
		return kv, storage.ErrNotFound
	}
	return kv, nil
}

func (b backendView) Watch(context.Context, string, int64, func(string) bool) (storage.ChangeStream, error) {
	return nil, storage.ErrCompacted
}

func (backendView) AlwaysCurrent() bool { return true }

type cacheView struct{ *memory }

func (cacheView) Expect(*storage.Record) {}

// record returns the one record of a revision, as a cache does.
func (m *memory) record(kv storage.KeyValue) *storage.Record {
	if r := m.records[kv.Key]; r != nil && r.Revision == kv.Revision {
		return r
	}
	r := storage.NewRecord(kv.Key, kv.Value, kv.Revision)
	m.records[kv.Key] = r
	return r
}

func (c cacheView) Get(_ context.Context, key string, fresh storage.Freshness) (*storage.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh.Match == storage.NotOlderThan && fresh.Revision > c.revision {
		return nil, &storage.TooLargeError{Requested: fresh.Revision, Current: c.revision}
	}
	kv := c.at(key, c.revision)
	if kv == nil {
		return nil, storage.ErrNotFound
	}
	return c.record(*kv), nil
}

func (c cacheView) Peek(_ context.Context, key string) (*storage.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.stale[key]; ok {
		return r, nil
	}
	kv := c.at(key, c.revision)
	if kv == nil {
		return nil, nil
	}
	return c.record(*kv), nil
}

func (c cacheView) List(_ context.Context, o storage.ListOptions) (storage.List, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := storage.List{Revision: c.revision}
	if o.Match == storage.Exact || o.Match == storage.NotOlderThan {
		if o.Revision > c.revision {
			return l, &storage.TooLargeError{Requested: o.Revision, Current: c.revision}
		}
	}
	if o.Match == storage.Exact {
		if o.Revision < c.compact {
			return l, storage.ErrCompacted
		}
		l.Revision = o.Revision
	}
	var keys []string
	for k := range c.history {
		if strings.HasPrefix(k, o.Prefix) && k > o.After && (o.Key == "" || o.Key == k) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		kv := c.at(k, l.Revision)
		if kv == nil {
			continue
		}
		r := c.record(*kv)
		labels, err := r.Labels(c.config.Labels)
		if err != nil {
			l.Records = append(l.Records, r)
			continue
		}
		fields, err := r.Fields(c.config.Fields)
		if err != nil {
			l.Records = append(l.Records, r)
			continue
		}
		if o.Labels != nil && !o.Labels.Matches(labels) || o.Fields != nil && !o.Fields.Matches(fields) {
			continue
		}
		if o.Limit > 0 && int64(len(l.Records)) == o.Limit {
			l.Last = l.Records[len(l.Records)-1].Key
			l.Remaining++
			continue
		}
		l.Records = append(l.Records, r)
	}
	if o.Labels != nil || o.Fields != nil {
		l.Remaining = -1
	}
	return l, nil
}

func (c cacheView) Count() (int64, bool) { return int64(len(c.history)), true }

func (cacheView) Watching(string, string) int { return 0 }

func (c cacheView) Watch(_ context.Context, o storage.WatchOptions) (storage.Watch, error) {
	if o.Revision != 0 && o.Revision < c.compact {
		return nil, &storage.TooOldError{Requested: o.Revision, Oldest: c.compact}
	}
	w := &memoryWatch{c: c, o: o, next: o.Revision}
	if o.Revision == 0 || o.Initial {
		l, err := c.List(context.Background(), storage.ListOptions{Prefix: o.Prefix, Labels: o.Labels, Fields: o.Fields})
		if err != nil {
			return nil, err
		}
		for _, r := range l.Records {
			w.initial = append(w.initial, storage.Event{Type: storage.Added, Record: r, Revision: r.Revision})
		}
		if o.Initial && o.Bookmarks {
			w.initial = append(w.initial, storage.Event{Type: storage.Bookmark, Revision: l.Revision, InitialEventsEnd: true})
		}
		w.next = l.Revision
	}
	return w, nil
}

type memoryWatch struct {
	c       cacheView
	o       storage.WatchOptions
	next    int64
	initial []storage.Event
}

func (w *memoryWatch) Stop() {}

func (w *memoryWatch) Initializing() bool { return false }

// Notify calls wake once: tests call Next.
func (w *memoryWatch) Notify(wake func()) { wake() }

func (w *memoryWatch) Next(ctx context.Context) ([]storage.Event, error) {
	if len(w.initial) > 0 {
		e := w.initial
		w.initial = nil
		return e, nil
	}
	for {
		w.c.mu.Lock()
		wait := w.c.changed
		var out []storage.Event
		for _, ch := range w.c.events {
			if ch.Revision <= w.next || !strings.HasPrefix(ch.Key, w.o.Prefix) {
				continue
			}
			w.next = ch.Revision
			e := storage.Event{Type: storage.Modified, Revision: ch.Revision,
				Record: storage.NewRecord(ch.Key, ch.Value, ch.Revision)}
			if ch.Deleted() {
				e.Type, e.Record = storage.Deleted, storage.NewRecord(ch.Key, ch.Previous, ch.Revision)
			} else if ch.PrevRev == 0 {
				e.Type = storage.Added
			}
			out = append(out, e)
		}
		w.c.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
