package memory

import (
	"bytes"
	"container/heap"
	"context"
	"time"

	"triplane.dev/generic/storage"
)

// maxValue is about the default maximum size of a value in etcd.
const maxValue = 1.5 * 1024 * 1024

// Create implements storage.Backend.
func (b *Backend) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch err := b.writable(ctx); {
	case err != nil:
		return 0, err
	case len(key)+len(value) > maxValue:
		return 0, storage.ErrTooLarge
	case b.current(key).value != nil:
		return 0, storage.ErrExists
	}
	return b.put(key, value, ttl), nil
}

// Update implements storage.Backend.
func (b *Backend) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return 0, err
	}
	if len(key)+len(value) > maxValue {
		return 0, storage.ErrTooLarge
	}
	if err := b.expect(key, expected); err != nil {
		return 0, err
	}
	return b.put(key, value, ttl), nil
}

// Delete implements storage.Backend.
func (b *Backend) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return 0, err
	}
	if err := b.expect(key, expected); err != nil {
		return 0, err
	}
	return b.write(key, nil), nil
}

// writable returns an error if the backend is closed, ctx has ended, or its condition does not hold. The caller holds
// b.mu.
func (b *Backend) writable(ctx context.Context) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	c, ok := storage.ConditionOf(ctx)
	if !ok {
		return nil
	}
	v := b.current(c.Key)
	if v.value == nil && c.Revision == 0 || v.value != nil && v.revision == c.Revision {
		return nil
	}
	return storage.ErrCondition
}

// expect returns a *storage.ConflictError unless a key is at a revision. The caller holds b.mu.
func (b *Backend) expect(key string, revision int64) error {
	v := b.current(key)
	if v.value == nil {
		return &storage.ConflictError{Key: key, Expected: revision}
	}
	if v.revision != revision {
		return &storage.ConflictError{Key: key, Expected: revision,
			Current: &storage.KeyValue{Key: key, Value: v.value, Revision: v.revision}}
	}
	return nil
}

// put writes a copy of a value, which expires after ttl unless that is 0. The caller holds b.mu.
func (b *Backend) put(key string, value []byte, ttl time.Duration) int64 {
	copied := bytes.Clone(value)
	if copied == nil {
		copied = []byte{}
	}
	revision := b.write(key, copied)
	if ttl > 0 {
		heap.Push(&b.expiring, expiry{at: time.Now().Add(ttl), key: key, revision: revision})
		if b.expiring[0].revision == revision {
			select {
			case b.rescanned <- struct{}{}:
			default: // a rescan is pending already
			}
		}
	}
	return revision
}

// write adds a revision that sets the value of a key, or deletes it if value is nil. The caller holds b.mu.
func (b *Backend) write(key string, value []byte) int64 {
	b.revision++
	versions, _ := b.keys.Get(key)
	change := storage.Change{Key: key, Value: value, Revision: b.revision}
	if n := len(versions); n > 0 && versions[n-1].value != nil {
		change.Previous, change.PrevRev = versions[n-1].value, versions[n-1].revision
	}
	b.keys.Set(key, append(versions, version{value: value, revision: b.revision}))
	b.size += int64(len(key) + len(value))
	b.log = append(b.log, change)
	b.wake()
	return b.revision
}

// wake wakes waiting watches. The caller holds b.mu.
func (b *Backend) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// noExpiry is the interval of scans if no key expires.
const noExpiry = time.Hour

// expire deletes expired keys and returns the time until the next one expires.
func (b *Backend) expire(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.expiring) > 0 && !b.closed {
		next := b.expiring[0]
		if wait := next.at.Sub(now); wait > 0 {
			return wait
		}
		heap.Pop(&b.expiring)
		if v := b.current(next.key); v.value != nil && v.revision == next.revision {
			b.write(next.key, nil)
		}
	}
	return noExpiry
}

// expiry is when a key expires, if it still has this revision.
type expiry struct {
	at       time.Time
	key      string
	revision int64
}

// expiries is a heap.Interface with the earliest first.
type expiries []expiry

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *expiries) Push(x any) { *e = append(*e, x.(expiry)) }

// Pop implements heap.Interface.
func (e *expiries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
