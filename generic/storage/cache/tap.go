package cache

import (
	"context"
	"slices"
	"sync"

	"triplane.dev/generic/storage"
)

const (
	// tapLimit limits the bytes of changes that a tap's reader has not read.
	tapLimit = 64 << 20
	// tapOverhead estimates the memory of a pending change without its value.
	tapOverhead = 128
)

// Tap is the stream of all changes below a multiplexer's prefix, with or without caches. Its values are those
// of the backend, without Previous. Caches have applied a change before the tap returns it. A Tap is not safe
// for concurrent use.
type Tap struct {
	mux    *Multiplexer
	wake   chan struct{}
	notify func() // nil does nothing

	mu      sync.Mutex
	changes []storage.Change
	bytes   int
	lost    bool
}

// Tap returns a tap that starts with the next change. notify is called after changes that Take or Next then returns; it
// must not block. Nil does nothing.
func (m *Multiplexer) Tap(notify func()) *Tap {
	t := &Tap{mux: m, wake: make(chan struct{}, 1), notify: notify}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taps = append(slices.Clone(m.taps), t)
	return t
}

// Next blocks until there are changes and returns them in order. lost is set if changes before these are
// missing, because the reader was too slow or the multiplexer was reset. The reader must then list all keys
// again.
func (t *Tap) Next(ctx context.Context) (changes []storage.Change, lost bool, err error) {
	for {
		if changes, lost = t.Take(); len(changes) > 0 || lost {
			return changes, lost, nil
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// Take is Next without waiting.
func (t *Tap) Take() (changes []storage.Change, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes, lost = t.changes, t.lost
	t.changes, t.bytes, t.lost = nil, 0, false
	return changes, lost
}

// Stop ends the tap. It may be called twice.
func (t *Tap) Stop() {
	t.mux.mu.Lock()
	defer t.mux.mu.Unlock()
	t.mux.taps = slices.DeleteFunc(slices.Clone(t.mux.taps), func(other *Tap) bool { return other == t })
}

// add queues the changes of a batch.
func (t *Tap) add(changes []storage.Change) {
	t.mu.Lock()
	for i := range changes {
		c := changes[i]
		c.Previous, c.PrevRev = nil, 0
		t.changes = append(t.changes, c)
		t.bytes += len(c.Key) + len(c.Value) + tapOverhead
	}
	if t.bytes > tapLimit {
		t.changes, t.bytes, t.lost = nil, 0, true
	}
	t.mu.Unlock()
	t.signal()
}

// markLost drops the queue and records that changes are missing.
func (t *Tap) markLost() {
	t.mu.Lock()
	t.changes, t.bytes, t.lost = nil, 0, true
	t.mu.Unlock()
	t.signal()
}

func (t *Tap) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
	if t.notify != nil {
		t.notify()
	}
}
