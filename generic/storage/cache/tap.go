package cache

import (
	"context"
	"slices"
	"sync"

	"triplane/generic/storage"
)

const (
	// tapLimit bounds the bytes that wait for the reader of a tap.
	tapLimit = 64 << 20
	// tapOverhead is about what a waiting change costs beside its value.
	tapOverhead = 128
)

// Tap is the stream of all changes below a multiplexer's prefix, for those that follow
// every resource, whether or not it has a cache. Values are as the backend holds
// them, and Previous is left out. Caches have a change before the tap does. It
// belongs to one goroutine.
type Tap struct {
	mux  *Multiplexer
	wake chan struct{}

	mu      sync.Mutex
	changes []storage.Change
	bytes   int
	lost    bool
}

// Tap begins with the next change.
func (m *Multiplexer) Tap() *Tap {
	t := &Tap{mux: m, wake: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taps = append(slices.Clone(m.taps), t)
	return t
}

// Next blocks until there are changes and returns them in order. lost reports that
// changes are missing before these: the reader was too slow, or the multiplexer began
// anew, and whoever follows the keys has to read them again.
func (t *Tap) Next(ctx context.Context) (changes []storage.Change, lost bool, err error) {
	for {
		t.mu.Lock()
		changes, lost = t.changes, t.lost
		t.changes, t.bytes, t.lost = nil, 0, false
		t.mu.Unlock()
		if len(changes) > 0 || lost {
			return changes, lost, nil
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// Stop ends the tap; it is safe to call twice.
func (t *Tap) Stop() {
	t.mux.mu.Lock()
	defer t.mux.mu.Unlock()
	t.mux.taps = slices.DeleteFunc(slices.Clone(t.mux.taps), func(other *Tap) bool { return other == t })
}

// add takes the changes of a batch.
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

// lose says that changes are missing from here on.
func (t *Tap) lose() {
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
}
