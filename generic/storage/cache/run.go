package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"triplane/generic/storage"
	"triplane/internal/worker"
)

const (
	firstRetry   = 10 * time.Millisecond
	longestRetry = time.Second
	// askFirst is how long a reader's revision may stay away before the backend
	// is asked how far the watch is: mostly the event that makes it comes sooner.
	askFirst = 2 * time.Millisecond
	askAgain = 25 * time.Millisecond
)

// Run holds the watch until ctx ends, opening it again when it breaks. When the
// history in between is gone all caches begin anew, and their watches end. It may
// be called once. On return all caches are stopped.
func (h *Hub) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	h.ctx = ctx
	var helpers worker.Group
	helpers.Keep(ctx, h.askForProgress)
	helpers.Keep(ctx, h.keepTime)
	defer func() {
		cancel()
		h.end()
		helpers.Wait()
		h.fills.Wait()
		close(h.stopped)
	}()

	retry := firstRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := worker.Try(func() error { return h.watch(ctx) })
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > longestRetry {
			retry = firstRetry
		}
		klog.ErrorS(err, "The watch of the storage ended, it is opened again", "progress", h.progress.load(), "in", retry)
		h.counts.reconnects.Add(1)
		select {
		case <-time.After(retry):
			retry = min(2*retry, longestRetry)
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// watch opens the watch where the last one ended and follows it until it breaks.
func (h *Hub) watch(ctx context.Context) error {
	from, err := h.resume(ctx)
	if err != nil {
		return err
	}
	stream, err := h.backend.Watch(ctx, h.prefix, from, h.needPrevious)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		changes, revision, err := stream.Next(ctx)
		if errors.Is(err, storage.ErrCompacted) {
			h.rebuild(0)
			return err
		}
		if err != nil {
			return err
		}
		h.apply(changes, revision)
	}
}

// needPrevious reports whether the cache of a key would not know what the key was.
func (h *Hub) needPrevious(key string) bool {
	h.mu.RLock()
	c := h.route(key)
	h.mu.RUnlock()
	return c != nil && !c.filled.Load()
}

// resume returns where to watch from, and begins anew where there is nothing to go
// on from: at the start, after compaction, or when the backend went back in time
// (it was restored from a backup).
func (h *Hub) resume(ctx context.Context) (int64, error) {
	now, err := h.backend.Revision(ctx)
	if err != nil {
		return 0, err
	}
	at := h.progress.load()
	if at != 0 && at <= now {
		return at, nil
	}
	h.rebuild(now)
	select {
	case <-h.started:
	default:
		close(h.started)
	}
	return now, nil
}

// rebuild makes all caches begin anew at a revision; at 0 it is not known yet,
// and resume will find it.
func (h *Hub) rebuild(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.started:
		if revision != 0 {
			h.counts.rebuilds.Add(1)
		}
	default:
	}
	for _, c := range h.caches {
		c.reset(revision)
	}
	for _, t := range h.taps {
		t.lose()
	}
	h.progress.set(revision)
}

// apply hands a batch out and then moves the progress.
func (h *Hub) apply(changes []storage.Change, revision int64) {
	h.mu.RLock()
	var touched []*Cache
	taps, tapped := h.taps, changes
	if len(taps) > 0 {
		tapped = slices.Clone(changes) // a cache's view decodes in place
	}
	for len(changes) > 0 {
		c := h.route(changes[0].Key)
		n := 1
		for n < len(changes) && h.route(changes[n].Key) == c {
			n++
		}
		if c != nil && c.apply(changes[:n]) {
			touched = append(touched, c)
		}
		changes = changes[n:]
	}
	h.progress.set(max(revision, h.progress.load()))
	h.mu.RUnlock()
	for _, t := range taps {
		t.add(tapped)
	}
	for _, c := range touched {
		c.wake()
	}
}

// end stops all caches.
func (h *Hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, c := range h.caches {
		c.stop()
	}
}

// askForProgress asks the backend how far the watch is while readers wait.
func (h *Hub) askForProgress(ctx context.Context) {
	timer := time.NewTimer(askFirst)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.progress.nudge:
		}
		// Whoever is not served by the next change nudges again.
		for pause := askFirst; ; pause = askAgain {
			changed := h.progress.change()
			if changed == nil {
				break // nobody waits
			}
			timer.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-timer.C:
				h.requestProgress(ctx)
				continue
			}
			break
		}
	}
}

func (h *Hub) requestProgress(ctx context.Context) {
	if err := h.backend.RequestProgress(ctx); err != nil && ctx.Err() == nil {
		klog.V(2).InfoS("Asking for the progress of the watch failed", "err", err)
	}
}
