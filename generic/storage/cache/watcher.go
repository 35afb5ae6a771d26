package cache

import (
	"context"
	"strings"
	"sync"
	"time"

	"triplane/generic/storage"
)

const (
	// A watch that is this far behind is cut. Events are shared, so what a slow
	// watch holds alive is what nobody else does.
	pendingMax      = 20_000
	pendingBytesMax = 64 << 20
	// initialPage is how many initial events one Next returns.
	initialPage = 500
	// roomKept is for how many events an idle watch keeps room.
	roomKept = 32
)

// watch is a running watch: a queue of shared events, and where its owner is.
type watch struct {
	cache  *Cache
	opts   storage.WatchOptions
	filter *filter
	scope  scope
	place  int // in its list of the index; Cache.mu guards it
	// registered is whether it is in the index; Cache.mu guards it.
	registered bool
	wakeup     chan struct{} // one slot
	limit      int           // of pending

	mu       sync.Mutex // guards what follows
	pending  []*event
	bytes    int
	bookmark bool // one is due
	err      error
	dirty    bool // queued to be woken

	// What follows belongs to the owner's goroutine.
	after    int64     // revision up to which everything has been returned
	initial  *snapshot // not nil while initial events are left
	position string    // key to go on with among them
	endMark  bool      // the bookmark that ends the initial events is owed
	taken    []*event
	out      []storage.Event
}

var _ storage.Watch = (*watch)(nil)

// push queues an event. It reports whether the watch has to be woken for it.
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
		w.bytes += len(e.Record.Value)
	}
	wake := !w.dirty
	w.dirty = true
	return wake
}

// signal wakes the owner.
func (w *watch) signal() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

// fail ends the watch once its owner has what is queued. Cache.mu is held, and
// the index lets go of the watch.
func (w *watch) fail(err error) {
	w.registered = false
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	w.signal()
}

// bookmarkDue asks for a bookmark, and sets the time of the one after it.
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
	w.pending = nil
	w.mu.Unlock()
	// The wheel has the watch until its next bookmark is due: no more than the rest of it.
	w.initial, w.endMark = nil, false
	w.taken, w.out, w.filter = nil, nil, nil
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
		// The progress is read before the queue: the queue then holds all of it.
		progress := w.cache.mux.progress.load()
		bookmark, err := w.take()
		for i, e := range w.taken {
			w.add(e)
			w.taken[i] = nil
		}
		if bookmark && progress > w.after { // otherwise it is not newer than what the client began with
			w.addBookmark(progress, false)
		}
		if len(w.out) > 0 {
			return w.out, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-w.wakeup:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Initializing implements storage.Watch.
func (w *watch) Initializing() bool { return w.initial != nil || w.endMark }

// release forgets what the last Next returned, and gives back what room an
// unusual number of events took.
func (w *watch) release() {
	clear(w.out)
	w.out = w.out[:0]
	if cap(w.out) > roomKept {
		w.out = nil
	}
	if cap(w.taken) > roomKept {
		w.taken = nil
	}
}

// take empties the queue into w.taken.
func (w *watch) take() (bookmark bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken, w.pending = w.pending, w.taken[:0]
	w.bytes, w.dirty = 0, false
	bookmark, w.bookmark = w.bookmark, false
	return bookmark, w.err
}

// add appends what an event is to this watch, if anything.
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

// first is the key to begin the initial events with.
func (w *watch) first() string {
	if w.opts.Key != "" {
		return w.opts.Key
	}
	return w.opts.Prefix
}

// nextInitial returns a page of the initial events, and the bookmark at their
// end.
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
