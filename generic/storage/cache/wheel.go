package cache

import (
	"context"
	"sync"
	"time"
)

// wheel schedules the bookmarks of all watches with one goroutine and a resolution of one second. Without
// watches with bookmarks it has no timer.
type wheel struct {
	base time.Time

	mu    sync.Mutex
	slots map[int64][]*watch // by the second after base
	added chan struct{}      // one slot
}

func newWheel() *wheel {
	return &wheel{base: time.Now(), slots: map[int64][]*watch{}, added: make(chan struct{}, 1)}
}

// now returns the nanoseconds since the wheel was created.
func (w *wheel) now() int64 { return int64(time.Since(w.base)) }

// add schedules a bookmark of a watch at t.
func (w *wheel) add(t time.Time, watch *watch) {
	second := int64(t.Sub(w.base) / time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.slots) == 0 {
		select {
		case w.added <- struct{}{}:
		default:
		}
	}
	w.slots[second] = append(w.slots[second], watch)
}

// due removes and returns the watches whose bookmarks are due.
func (w *wheel) due(now time.Time) (watches []*watch, empty bool) {
	second := int64(now.Sub(w.base) / time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, list := range w.slots {
		if s <= second {
			watches = append(watches, list...)
			delete(w.slots, s)
		}
	}
	return watches, len(w.slots) == 0
}

const (
	bookmarkEvery = time.Minute
	// bookmarkBefore is how long before a watch's deadline its last bookmark is sent.
	bookmarkBefore = 2 * time.Second
	trimEvery      = time.Minute
)

// keepTime sends due bookmarks and trims histories until ctx ends.
func (m *Multiplexer) keepTime(ctx context.Context) {
	trim := time.NewTicker(trimEvery)
	defer trim.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-trim.C:
			m.Each(func(c *Cache) { c.trim(m.clock.now()) })
		case <-m.clock.added:
			second.Reset(time.Second)
		case now := <-second.C:
			watches, empty := m.clock.due(now)
			for _, w := range watches {
				w.bookmarkDue(now)
			}
			if empty {
				second.Stop()
				m.clock.resume()
			}
		}
	}
}

// resume handles watches that were added while the ticker was stopped.
func (w *wheel) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.slots) > 0 {
		select {
		case w.added <- struct{}{}:
		default:
		}
	}
}

// nextBookmark returns when a watch's next bookmark is due: about a minute from now, but before its deadline.
// It returns false after the deadline.
func nextBookmark(now, deadline time.Time) (time.Time, bool) {
	next := now.Add(bookmarkEvery)
	if deadline.IsZero() {
		return next, true
	}
	last := deadline.Add(-bookmarkBefore)
	if !last.After(now) {
		return time.Time{}, false
	}
	if last.Before(next) {
		next = last
	}
	return next, true
}
