package cache

import (
	"context"
	"strings"
	"sync"
	"time"

	"triplane.dev/generic/storage"
)

const (
	// Limits of a watch's pending events. Beyond them the watch ends.
	pendingMax      = 20_000
	pendingBytesMax = 64 << 20
	// initialPage is how many initial events one Next returns.
	initialPage = 500
	// idleCapacity is the capacity in events that an idle watch keeps.
	idleCapacity = 32
)

// watch is a running watch: a queue of shared events and the position of its reader.
type watch struct {
	cache  *Cache
	opts   storage.WatchOptions
	filter *filter
	scope  scope
	place  int // index in its list of the index; guarded by Cache.mu
	// registered is whether it is in the index; guarded by Cache.mu.
	registered bool
	limit      int // of pending events

	mu       sync.Mutex // guards the following fields
	pending  []*event
	bytes    int
	bookmark bool // a bookmark is due
	err      error
	dirty    bool // in index.dirty
	reader   reader

	// Only the reader's goroutine uses the following fields.
	after    int64     // revision up to which all events have been returned
	initial  *snapshot // nil after the last initial event
	position string    // next key of the initial events
	endMark  bool      // the bookmark after the initial events has not been sent
	batch    []*event
	out      []storage.Event
}

var _ storage.Watch = (*watch)(nil)

// reader is how a watch wakes its reader.
type reader struct {
	notify func()
	wakeup chan struct{} // one slot; nil until Next waits
}

// push queues an event. It reports whether the watch must be woken.
func (w *watch) push(e *event) bool {
	if w.scope.kind == scopeValue && !w.concerns(e) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false
	}
	if len(w.pending) >= w.limit || w.bytes > pendingBytesMax {
		w.pending, w.bytes, w.err = nil, 0, storage.ErrTooSlow
	} else {
		w.pending = append(w.pending, e)
		w.bytes += e.Record.Size()
	}
	wake := !w.dirty
	w.dirty = true
	return wake
}

// signal wakes the reader.
func (w *watch) signal() {
	w.mu.Lock()
	notify := w.reader.notify
	if w.reader.wakeup != nil {
		select {
		case w.reader.wakeup <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// woken returns the channel for a Next that waits. It has a value if there is something to return already.
func (w *watch) woken() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reader.wakeup == nil {
		w.reader.wakeup = make(chan struct{}, 1)
		if w.dirty || w.bookmark || w.err != nil {
			w.reader.wakeup <- struct{}{}
		}
	}
	return w.reader.wakeup
}

// fail ends the watch after the queued events. The caller holds Cache.mu and removes the watch from the index.
func (w *watch) fail(err error) {
	w.registered = false
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	w.signal()
}

// bookmarkDue requests a bookmark and schedules the next one.
func (w *watch) bookmarkDue(now time.Time) {
	w.mu.Lock()
	ended := w.err != nil
	w.bookmark = !ended
	w.mu.Unlock()
	if ended {
		return
	}
	w.signal()
	if at, ok := nextBookmark(now, w.opts.Deadline); ok {
		w.cache.mux.clock.add(at, w)
	}
}

// Stop implements storage.Watch.
func (w *watch) Stop() {
	c := w.cache
	c.mu.Lock()
	if w.registered {
		w.registered = false
		c.watchers.remove(w)
	}
	c.mu.Unlock()
	w.mu.Lock()
	if w.err == nil {
		w.err = storage.ErrStopped
	}
	w.pending, w.reader.notify = nil, nil
	w.mu.Unlock()
	// The wheel holds the watch until its next bookmark is due, so everything else is released here.
	w.initial, w.endMark = nil, false
	w.batch, w.out, w.filter = nil, nil, nil
	w.opts.Labels, w.opts.Fields, w.opts.Shard, w.opts.FieldReader = nil, nil, nil, nil
}

// Next implements storage.Watch. The slice is valid until the next call.
func (w *watch) Next(ctx context.Context) ([]storage.Event, error) {
	w.release()
	for {
		if w.initial != nil || w.endMark {
			w.nextInitial()
			if len(w.out) > 0 {
				return w.out, nil
			}
		}
		// The progress is read before the queue, so that the queue has all events up to it.
		progress := w.cache.mux.progress.load()
		bookmark, err := w.take()
		for i, e := range w.batch {
			w.add(e)
			w.batch[i] = nil
		}
		if bookmark && progress > w.after { // otherwise the client has this revision already
			w.addBookmark(progress, false)
		}
		if len(w.out) > 0 {
			return w.out, nil
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil { // as that of NoWait
			return nil, err
		}
		select {
		case <-w.woken():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Notify implements storage.Watch.
func (w *watch) Notify(wake func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reader.notify = wake
}

// Initializing implements storage.Watch.
func (w *watch) Initializing() bool { return w.initial != nil || w.endMark }

// release drops the events of the last call of Next. It also releases a large capacity.
func (w *watch) release() {
	clear(w.out)
	w.out = w.out[:0]
	if cap(w.out) > idleCapacity {
		w.out = nil
	}
	if cap(w.batch) > idleCapacity {
		w.batch = nil
	}
}

// take moves the queue to w.batch.
func (w *watch) take() (bookmark bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch, w.pending = w.pending, w.batch[:0]
	w.bytes, w.dirty = 0, false
	bookmark, w.bookmark = w.bookmark, false
	return bookmark, w.err
}

// add appends the event for this watch, if there is one.
func (w *watch) add(e *event) {
	if e.Revision <= w.after {
		return
	}
	ev := e.Event
	if w.filter != nil {
		is := e.Type != storage.Deleted && w.filter.matches(e.Record)
		was := e.previous != nil && w.filter.matches(e.previous)
		switch {
		case is && was:
			ev.Type = storage.Modified
		case is:
			ev.Type = storage.Added
		case was:
			ev.Type, ev.Record = storage.Deleted, e.leaving()
		default:
			return
		}
	}
	w.out = append(w.out, ev)
}

func (w *watch) addBookmark(revision int64, endsInitial bool) {
	w.out = append(w.out, storage.Event{Type: storage.Bookmark, Revision: revision, InitialEventsEnd: endsInitial})
}

// first returns the first key of the initial events.
func (w *watch) first() string {
	if w.opts.Key != "" {
		return w.opts.Key
	}
	return w.opts.Prefix
}

// nextInitial returns a page of initial events, and the bookmark after them.
func (w *watch) nextInitial() {
	if w.initial != nil {
		more := false
		w.initial.tree.Ascend(w.position, func(key string, r *storage.Record) bool {
			switch {
			case w.opts.Key != "" && key != w.opts.Key, !strings.HasPrefix(key, w.opts.Prefix):
				return false
			case len(w.out) == initialPage:
				w.position, more = key, true
				return false
			}
			if w.filter.matches(r) {
				w.out = append(w.out, storage.Event{Type: storage.Added, Record: r, Revision: r.Revision})
			}
			return true
		})
		w.cache.counts.initial.Add(int64(len(w.out)))
		if more {
			return
		}
		w.initial = nil
	}
	if w.endMark {
		w.endMark = false
		w.addBookmark(w.after, true)
	}
}
