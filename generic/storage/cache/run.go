package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

const (
	firstRetry   = 10 * time.Millisecond
	longestRetry = time.Second
	// firstPoll is how long a reader waits before progress is requested from the backend. In most cases the
	// awaited event arrives earlier.
	firstPoll    = 2 * time.Millisecond
	pollInterval = 25 * time.Millisecond
)

// Run holds the watch until ctx ends. It reopens a broken watch. If the history between was compacted, all
// caches are reset and their watches end. Run must be called once. On return all caches are stopped.
func (m *Multiplexer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	m.ctx = ctx
	var helpers worker.Group
	helpers.Keep(ctx, m.pollProgress)
	helpers.Keep(ctx, m.keepTime)
	defer func() {
		cancel()
		m.end()
		helpers.Wait()
		m.fills.Wait()
		close(m.stopped)
	}()

	retry := firstRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := worker.Try(func() error { return m.watch(ctx) })
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > longestRetry {
			retry = firstRetry
		}
		klog.ErrorS(err, "Storage watch ended, reopening it", "progress", m.progress.load(), "in", retry)
		m.counts.reconnects.Add(1)
		select {
		case <-time.After(retry):
			retry = min(2*retry, longestRetry)
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// watch opens a watch after the last progress and applies its changes until it breaks.
func (m *Multiplexer) watch(ctx context.Context) error {
	from, err := m.resume(ctx)
	if err != nil {
		return err
	}
	stream, err := m.backend.Watch(ctx, m.prefix, from, m.needPrevious)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		changes, revision, err := stream.Next(ctx)
		if errors.Is(err, storage.ErrCompacted) {
			m.rebuild(0)
			return err
		}
		if err != nil {
			return err
		}
		m.apply(changes, revision)
	}
}

// needPrevious reports whether the cache of a key needs the previous value of changes.
func (m *Multiplexer) needPrevious(key string) bool {
	m.mu.RLock()
	var c *Cache
	if owner := m.owner(key); owner != nil {
		c = owner.route(key)
	}
	m.mu.RUnlock()
	return c != nil && !c.filled.Load()
}

// resume returns the revision to watch from. It resets all caches if they cannot continue: at the start, after
// compaction, or if the backend's revision has decreased because it was restored from a backup.
func (m *Multiplexer) resume(ctx context.Context) (int64, error) {
	now, err := m.backend.Revision(ctx)
	if err != nil {
		return 0, err
	}
	at := m.progress.load()
	if at != 0 && at <= now {
		return at, nil
	}
	m.rebuild(now)
	select {
	case <-m.started:
	default:
		close(m.started)
	}
	return now, nil
}

// rebuild resets all caches to a revision. With 0 the revision is unknown, and resume sets it.
func (m *Multiplexer) rebuild(revision int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.started:
		if revision != 0 {
			m.counts.rebuilds.Add(1)
		}
	default:
	}
	for _, owner := range m.family() {
		for _, c := range owner.caches {
			c.reset(revision)
		}
		for _, t := range owner.taps {
			t.markLost()
		}
	}
	m.progress.set(revision)
}

// delivery is a part of a batch for the taps of a multiplexer.
type delivery struct {
	taps    []*Tap
	changes []storage.Change
}

// apply passes a batch to the caches and then advances the progress.
func (m *Multiplexer) apply(changes []storage.Change, revision int64) {
	m.mu.RLock()
	var touched []*Cache
	var tapped []delivery
	for len(changes) > 0 {
		owner := m.owner(changes[0].Key)
		n := 1
		for n < len(changes) && m.owner(changes[n].Key) == owner {
			n++
		}
		if owner != nil {
			if len(owner.taps) > 0 {
				tapped = append(tapped, delivery{owner.taps, slices.Clone(changes[:n])}) // caches decode in place
			}
			touched = owner.applyOwn(changes[:n], touched)
		}
		changes = changes[n:]
	}
	m.progress.set(max(revision, m.progress.load()))
	m.mu.RUnlock()
	for _, d := range tapped {
		for _, t := range d.taps {
			t.add(d.changes)
		}
	}
	for _, c := range touched {
		c.wake()
	}
}

// applyOwn passes changes of the multiplexer's own keys to its caches. It appends those that must be woken to touched.
func (m *Multiplexer) applyOwn(changes []storage.Change, touched []*Cache) []*Cache {
	for len(changes) > 0 {
		c := m.route(changes[0].Key)
		n := 1
		for n < len(changes) && m.route(changes[n].Key) == c {
			n++
		}
		if c != nil && c.apply(changes[:n]) {
			touched = append(touched, c)
		}
		changes = changes[n:]
	}
	return touched
}

// end stops all caches.
func (m *Multiplexer) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, owner := range m.family() {
		for _, c := range owner.caches {
			c.stop()
		}
	}
}

// pollProgress requests progress from the backend while readers wait.
func (m *Multiplexer) pollProgress(ctx context.Context) {
	timer := time.NewTimer(firstPoll)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.progress.requested:
		}
		// A reader that the next change does not serve makes another request.
		for pause := firstPoll; ; pause = pollInterval {
			changed := m.progress.change()
			if changed == nil {
				break // no reader waits
			}
			timer.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-timer.C:
				m.requestProgress(ctx)
				continue
			}
			break
		}
	}
}

func (m *Multiplexer) requestProgress(ctx context.Context) {
	if err := m.backend.RequestProgress(ctx); err != nil && ctx.Err() == nil {
		klog.V(2).InfoS("Failed to request the progress of the watch", "err", err)
	}
}
