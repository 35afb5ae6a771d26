package memory

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"triplane.dev/generic/storage"
)

// Backend implements storage.Backend.
type Backend struct {
	mu        sync.RWMutex
	keys      btree.Map[string, []version] // oldest version first, never empty
	log       []storage.Change             // changes after compacted
	revision  int64
	compacted int64
	size      int64 // bytes of all keys and values
	closed    bool
	changed   chan struct{} // closed at the next write; nil if no stream waits

	expiring  expiries
	rescanned chan struct{} // receives when a key expires before all others
}

var _ storage.Backend = (*Backend)(nil)

// version is the value of a key since a revision; nil is a deletion.
type version struct {
	value    []byte
	revision int64
}

// New returns an empty Backend.
func New() *Backend {
	return &Backend{revision: 1, rescanned: make(chan struct{}, 1)}
}

// Close ends watches. Later calls return storage.ErrStopped.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
	return nil
}

// usable returns an error if the backend is closed or ctx has ended. The caller holds b.mu.
func (b *Backend) usable(ctx context.Context) error {
	if b.closed {
		return storage.ErrStopped
	}
	return ctx.Err()
}

// current returns the current version of a key. Its value is nil if the key does not exist. The caller holds
// b.mu.
func (b *Backend) current(key string) version {
	versions, _ := b.keys.Get(key)
	if len(versions) == 0 {
		return version{}
	}
	return versions[len(versions)-1]
}

// Get implements storage.Backend.
func (b *Backend) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.usable(ctx); err != nil {
		return storage.KeyValue{}, err
	}
	v := b.current(key)
	if v.value == nil {
		return storage.KeyValue{}, storage.ErrNotFound
	}
	return storage.KeyValue{Key: key, Value: v.value, Revision: v.revision}, nil
}

// Range implements storage.Backend.
func (b *Backend) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.usable(ctx); err != nil {
		return storage.RangeResult{}, err
	}
	result := storage.RangeResult{Revision: b.revision}
	switch at := opts.Revision; {
	case at > b.revision:
		return result, storage.ErrFutureRevision
	case at > 0 && at < b.compacted:
		return result, storage.ErrCompacted
	case at > 0:
		result.Revision = at
	}
	b.keys.Ascend(max(opts.Prefix, opts.After), func(key string, versions []version) bool {
		if !strings.HasPrefix(key, opts.Prefix) {
			return false
		}
		v := at(versions, result.Revision)
		if v.value == nil || key <= opts.After {
			return true
		}
		result.Count++
		switch {
		case opts.CountOnly:
		case opts.Limit > 0 && int64(len(result.Items)) == opts.Limit:
			result.More = true
		default:
			result.Items = append(result.Items, storage.KeyValue{Key: key, Value: v.value, Revision: v.revision})
		}
		return true
	})
	return result, nil
}

// at returns the version of a key at a revision. Its value is nil if the key did not exist.
func at(versions []version, revision int64) version {
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].revision <= revision {
			return versions[i]
		}
	}
	return version{}
}

// Revision implements storage.Backend.
func (b *Backend) Revision(ctx context.Context) (int64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.revision, b.usable(ctx)
}

// RequestProgress implements storage.Backend. It does nothing.
func (b *Backend) RequestProgress(context.Context) error { return nil }

// AlwaysCurrent implements storage.Backend. Watches report every revision.
func (b *Backend) AlwaysCurrent() bool { return true }

// DatabaseSize implements storage.Backend.
func (b *Backend) DatabaseSize(ctx context.Context) (int64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.size, b.usable(ctx)
}

// RunCompactor compacts, at each interval, the revisions that are older than one interval, until ctx ends. It
// also deletes expired keys. An interval of 0 disables compaction.
func (b *Backend) RunCompactor(ctx context.Context, interval time.Duration) {
	var tick <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	expiry := time.NewTimer(0)
	defer expiry.Stop()
	target := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.rescanned:
			expiry.Reset(b.expire(time.Now()))
		case now := <-expiry.C:
			expiry.Reset(b.expire(now))
		case <-tick:
			if target > 0 {
				_ = b.Compact(ctx, target) // fails if it is compacted already or the Backend is closed
			}
			target, _ = b.Revision(ctx)
		}
	}
}
