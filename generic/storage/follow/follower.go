package follow

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// retryDelay is the delay before a watch is opened after one that failed at once.
const retryDelay = 100 * time.Millisecond

// Handler receives the records of a cache. Its methods are never called concurrently.
type Handler interface {
	// Handle receives events in order, without bookmarks. The slice is valid until Handle returns. A record may be
	// delivered twice, after its watch ended and another one started.
	Handle(ctx context.Context, events []storage.Event)
	// Listed is called after Handle has received all records that existed when a watch started. has reports whether
	// a key was among them; the handler removes all others. revision is that of the records.
	Listed(ctx context.Context, revision int64, has func(key string) bool)
}

// Follower delivers the records of a cache to a handler.
type Follower struct {
	ctx     context.Context
	cache   storage.Cache
	key     string // the only one; "" is all
	handler Handler
	work    *worker.Demand
	ended   chan struct{} // closed when nothing runs after ctx

	// Only the goroutine of work uses the following fields.
	watch  storage.Watch
	opened time.Time
	listed map[string]struct{} // keys of the initial records; nil after the last one
}

// Start follows all records of a cache until ctx is done. It does not block.
func Start(ctx context.Context, c storage.Cache, h Handler) *Follower { return StartKey(ctx, c, "", h) }

// StartKey is Start for the record of one key.
func StartKey(ctx context.Context, c storage.Cache, key string, h Handler) *Follower {
	f := &Follower{ctx: ctx, cache: c, key: key, handler: h, ended: make(chan struct{})}
	f.work = worker.NewDemand(f.step)
	context.AfterFunc(ctx, f.work.Request)
	f.work.Request()
	return f
}

// Wait returns when the handler is not called any more. Start's context must be done.
func (f *Follower) Wait() {
	<-f.ended
	f.work.Wait()
}

// step delivers all events that are available.
func (f *Follower) step() {
	whole := false
	defer func() {
		if !whole { // the handler panicked: its state is unknown
			f.close()
		}
	}()
	for f.ctx.Err() == nil && f.open() {
		events, err := f.watch.Next(storage.NoWait)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			f.reopen(err)
			break
		}
		f.deliver(events)
	}
	if whole = true; f.ctx.Err() != nil {
		f.end()
	}
}

// open starts a watch if there is none. It reports whether there is one.
func (f *Follower) open() bool {
	if f.watch != nil {
		return true
	}
	f.opened = time.Now()
	w, err := f.cache.Watch(f.ctx, storage.WatchOptions{Key: f.key, Initial: true, Bookmarks: true})
	if err != nil {
		f.reopen(err)
		return false
	}
	w.Notify(f.work.Request)
	f.watch, f.listed = w, map[string]struct{}{}
	return true
}

// reopen ends the watch and requests another one, at once unless the last one failed at once.
func (f *Follower) reopen(err error) {
	f.close()
	if f.ctx.Err() != nil {
		return
	}
	if !errors.Is(err, storage.ErrStopped) && !errors.Is(err, storage.ErrTooSlow) {
		klog.FromContext(f.ctx).Error(err, "Failed to watch stored objects, will retry")
	}
	if time.Since(f.opened) >= retryDelay {
		f.work.Request()
		return
	}
	time.AfterFunc(retryDelay, f.work.Request)
}

// deliver passes events to the handler, and the end of the initial records.
func (f *Follower) deliver(events []storage.Event) {
	for len(events) > 0 {
		n := 0
		for n < len(events) && events[n].Type != storage.Bookmark {
			if f.listed != nil {
				f.listed[events[n].Record.Key] = struct{}{}
			}
			n++
		}
		if n > 0 {
			f.handler.Handle(f.ctx, events[:n])
		}
		if n < len(events) {
			if listed := f.listed; events[n].InitialEventsEnd && listed != nil {
				f.listed = nil
				f.handler.Listed(f.ctx, events[n].Revision,
					func(key string) bool { _, ok := listed[key]; return ok })
			}
			n++
		}
		events = events[n:]
	}
}

func (f *Follower) close() {
	if f.watch != nil {
		f.watch.Stop()
		f.watch, f.listed = nil, nil
	}
}

// end releases the watch after ctx is done.
func (f *Follower) end() {
	f.close()
	select {
	case <-f.ended:
	default:
		close(f.ended)
	}
}
