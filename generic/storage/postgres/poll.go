package postgres

import (
	"context"
	"fmt"
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
	// pollLimit limits the changes of a poll, maxLog and maxLogBytes those that are kept for watches. A watch that is
	// further behind reads from the database.
	pollLimit   = 512
	maxLog      = 8192
	maxLogBytes = 32 << 20

	changesSQL = `SELECT state.*, k.revision, k.key, k.value, k.previous, k.created FROM (` + stateSQL + ` OFFSET 0) state
		LEFT JOIN (SELECT * FROM triplane.kv WHERE revision > $1 ORDER BY revision LIMIT $2) k ON true ORDER BY k.revision`
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

	mu        sync.Mutex
	next      *round // consistent reads that wait for the next poll
	streams   int
	log       []logged // changes after floor, up to seen
	logBytes  int
	floor     int64
	seen      int64
	compacted int64
	epoch     int           // changes when revisions were lost or skipped; streams then end
	changed   chan struct{} // closed at the next progress; nil if no stream waits
}

// round is the result of a poll for the callers that share it.
type round struct {
	done     chan struct{}
	revision int64
	err      error
}

func newPoller(b *Backend) *poller { return &poller{backend: b, kicked: make(chan struct{}, 1)} }

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

// notify polls soon if a revision has not been seen yet.
func (p *poller) notify(revision int64) {
	p.mu.Lock()
	seen := p.seen
	p.mu.Unlock()
	if revision > seen {
		p.kick()
	}
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
	from, limit := p.seen, pollLimit
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

// add appends the result of a poll to the log and wakes the streams. It reports whether there are more changes.
func (p *poller) add(from int64, limit int, state state, changes []logged) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compacted = state.compacted
	switch {
	case state.latest < from, from < state.compacted && p.streams > 0:
		p.epoch++
		fallthrough
	case limit == 0:
		p.log, p.logBytes = nil, 0
		p.floor, p.seen = state.latest, state.latest
	case len(changes) == 0:
		p.seen = state.latest
	default:
		p.seen = changes[len(changes)-1].Revision
		more = p.seen < state.latest
		for i := range changes {
			p.logBytes += len(changes[i].Key) + len(changes[i].Value)
		}
		p.log = append(p.log, changes...)
		p.trim()
	}
	if p.changed != nil && p.seen != from {
		close(p.changed)
		p.changed = nil
	}
	return more
}

// trim drops the oldest half of a log that is too long. The caller holds p.mu.
func (p *poller) trim() {
	for len(p.log) > maxLog || p.logBytes > maxLogBytes && len(p.log) > 1 {
		n := len(p.log) / 2
		for i := range p.log[:n] {
			p.logBytes -= len(p.log[i].Key) + len(p.log[i].Value)
		}
		p.floor = p.log[n-1].Revision
		p.log = append([]logged(nil), p.log[n:]...)
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
