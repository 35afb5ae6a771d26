package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

const (
	// pollInterval is the time between polls without a notification, blindInterval if notifications do not arrive.
	pollInterval  = time.Second
	blindInterval = 50 * time.Millisecond
	pollTimeout   = 5 * time.Second
	failurePause  = 100 * time.Millisecond
	// pollLimit limits the changes of a poll, pollBytes about their size. maxLog and maxLogBytes limit those that are kept
	// for watches. A watch that is further behind reads from the database.
	pollLimit   = 512
	pollBytes   = 8 << 20
	maxLog      = 8192
	maxLogBytes = 32 << 20

	changesSQL = `SELECT state.*, k.revision, k.key, k.value, k.previous, k.created FROM (` + stateSQL + ` OFFSET 0) state
		LEFT JOIN (SELECT * FROM triplane.kv WHERE revision > $1 ORDER BY revision LIMIT $2) k ON true`
)

// logged is a change in the log. previous is the revision of the value that it replaced, 0 for a creation.
type logged struct {
	storage.Change
	previous int64
}

// poller follows the revisions of the database for all watches and consistent reads of a Backend.
type poller struct {
	backend   *Backend
	kicked    chan struct{} // one slot
	listening atomic.Bool   // notifications arrive
	polls     atomic.Int64
	failing   bool
	limit     int // changes of the next poll

	mu        sync.Mutex
	next      *round // consistent reads that wait for the next poll
	streams   int
	log       changeLog // up to seen
	seen      int64
	compacted int64
	epoch     int           // changes when revisions were lost or skipped; streams then end
	changed   chan struct{} // closed at the next progress; nil if no stream waits
}

// changeLog has the changes after the revision floor.
type changeLog struct {
	changes []logged
	bytes   int
	floor   int64
}

// round is the result of a poll for the callers that share it.
type round struct {
	done     chan struct{}
	revision int64
	err      error
}

func newPoller(b *Backend) *poller {
	return &poller{backend: b, kicked: make(chan struct{}, 1), limit: pollLimit}
}

// run polls until ctx ends.
func (p *poller) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kicked:
		case <-timer.C:
		}
		p.poll(ctx)
		interval := pollInterval
		if !p.listening.Load() {
			interval = blindInterval
		}
		timer.Reset(interval)
	}
}

// committed adds the changes of a transaction of this process to the log. If there are other revisions between them and
// the latest one that was seen, a poll reads them all.
func (p *poller) committed(changes []logged) {
	if len(changes) == 0 {
		return
	}
	last := changes[len(changes)-1].Revision
	p.mu.Lock()
	next := changes[0].Revision == p.seen+1
	if next {
		p.extend(changes, last)
	}
	p.mu.Unlock()
	if !next {
		p.notify(last)
	}
}

// notify polls soon if a revision has not been seen yet.
func (p *poller) notify(revision int64) {
	p.mu.Lock()
	seen := p.seen
	p.mu.Unlock()
	if revision > seen {
		p.kick()
	}
}

// reachTimeout bounds how long the response to a write waits for its poll.
const reachTimeout = time.Second

// reach returns when the watches of this process, if there are any, can read the changes up to a revision. Cached reads
// after a write then include it, with the small delay that they have with the embedded etcd.
func (p *poller) reach(ctx context.Context, revision int64) {
	timer := time.NewTimer(reachTimeout)
	defer timer.Stop()
	for {
		p.mu.Lock()
		if p.streams == 0 || p.seen >= revision {
			p.mu.Unlock()
			return
		}
		changed := p.awaitProgress()
		p.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-p.backend.ctx.Done():
			return
		}
	}
}

// awaitProgress returns a channel that is closed at the next progress. The caller holds p.mu.
func (p *poller) awaitProgress() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *poller) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// join returns the result of a poll that starts after the call.
func (p *poller) join() *round {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = &round{done: make(chan struct{})}
	}
	p.kick()
	return p.next
}

// poll reads the changes since the last poll.
func (p *poller) poll(ctx context.Context) {
	p.mu.Lock()
	r := p.next
	p.next = nil
	from, limit := p.seen, p.limit
	if p.streams == 0 {
		limit = 0
	}
	p.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, pollTimeout)
	state, changes, err := p.backend.changes(bounded, from, limit)
	cancel()
	p.polls.Add(1)
	if err == nil && p.add(from, limit, state, changes) {
		p.kick()
	}
	if r != nil {
		r.revision, r.err = state.latest, err
		close(r.done)
	}
	p.report(ctx, err)
}

// report logs the first of consecutive failures. It waits after each.
func (p *poller) report(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		if p.failing && err == nil {
			klog.InfoS("PostgreSQL responds again")
		}
		p.failing = false
		return
	}
	p.backend.pool.Reset()
	if !p.failing {
		klog.ErrorS(err, "Failed to read changes from PostgreSQL, retrying")
	}
	p.failing = true
	select {
	case <-time.After(failurePause):
		p.kick()
	case <-ctx.Done():
	}
}

// add appends the result of a poll to the log and wakes the streams. It reports whether there are more changes. The
// process may have added the first of the changes itself since the poll began.
func (p *poller) add(from int64, limit int, state state, changes []logged) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compacted = state.compacted
	switch {
	case state.latest < from, p.seen < state.compacted && p.streams > 0:
		p.epoch++
		p.restart(state.latest)
	case limit == 0 && state.latest > p.seen:
		p.restart(state.latest)
	case limit > 0 && len(changes) > 0:
		size := bytesOf(changes)
		p.limit = max(1, min(2*limit, pollLimit, pollBytes*len(changes)/max(1, size)))
		seen := sort.Search(len(changes), func(i int) bool { return changes[i].Revision > p.seen })
		p.extend(changes[seen:], changes[len(changes)-1].Revision)
		more = p.seen < state.latest
	}
	return more
}

// extend appends changes up to the revision last to the log, unless no stream reads it. The caller holds p.mu.
func (p *poller) extend(changes []logged, last int64) {
	if p.streams == 0 {
		p.restart(max(p.seen, last))
		return
	}
	p.log.changes, p.log.bytes = append(p.log.changes, changes...), p.log.bytes+bytesOf(changes)
	p.log.trim()
	p.progressTo(max(p.seen, last))
}

// restart begins an empty log after a revision. The caller holds p.mu.
func (p *poller) restart(after int64) {
	p.log = changeLog{floor: after}
	p.progressTo(after)
}

// progressTo sets the revision that has been seen, and wakes what waits for it. The caller holds p.mu.
func (p *poller) progressTo(revision int64) {
	if p.changed != nil && p.seen != revision {
		close(p.changed)
		p.changed = nil
	}
	p.seen = revision
}

// bytesOf returns the size of the keys and values of changes.
func bytesOf(changes []logged) (size int) {
	for i := range changes {
		size += len(changes[i].Key) + len(changes[i].Value)
	}
	return size
}

// trim drops the oldest half of a log that is too long.
func (l *changeLog) trim() {
	for len(l.changes) > maxLog || l.bytes > maxLogBytes && len(l.changes) > 1 {
		n := len(l.changes) / 2
		l.bytes -= bytesOf(l.changes[:n])
		l.floor = l.changes[n-1].Revision
		l.changes = slices.Clone(l.changes[n:])
	}
}

// state is the state of the store in a snapshot.
type state struct{ latest, compacted int64 }

// changes returns the changes after a revision, up to a limit, and the state of the store in the same snapshot. If
// there are fewer than limit, these are all.
func (b *Backend) changes(ctx context.Context, from int64, limit int) (s state, found []logged, err error) {
	err = b.read(ctx, func(rows pgx.Rows) error {
		var key, value []byte
		var revision, previous, created *int64
		err := rows.Scan(&s.latest, &s.compacted, &revision, &key, &value, &previous, &created)
		if err != nil || revision == nil {
			return err
		}
		c := logged{Change: storage.Change{Key: string(key), Value: value, Revision: *revision}}
		if *created != *revision {
			c.previous = *previous
		}
		found = append(found, c)
		return nil
	}, changesSQL, from, limit)
	slices.SortFunc(found, func(a, b logged) int {
		return cmp.Compare(a.Revision, b.Revision) // the join need not keep the order, but does
	})
	return s, found, err
}

// Revision implements storage.Backend with the next poll, which concurrent callers share.
func (b *Backend) Revision(ctx context.Context) (int64, error) {
	r := b.poller.join()
	timer := time.NewTimer(2 * pollTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.revision, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-b.ctx.Done():
		return 0, storage.ErrStopped
	case <-timer.C:
		return 0, fmt.Errorf("%w: no response within %v", storage.ErrUnavailable, 2*pollTimeout)
	}
}

// AlwaysCurrent implements storage.Backend. The poll that serves Revision also serves the watches.
func (b *Backend) AlwaysCurrent() bool { return true }

// RequestProgress implements storage.Backend. It does nothing.
func (b *Backend) RequestProgress(context.Context) error { return nil }
