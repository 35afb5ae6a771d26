package raftlog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

const (
	// pausedFor is how long etcd keeps all entries after it has sent its database to a follower. Writes are so
	// slow that the log needs longer than that to reach its limit.
	pausedFor = 30 * time.Second
	// leastRate is the part of the limit that is always written in a second, if the pause takes longer: sending a
	// database of gigabytes takes minutes.
	leastRate = 1. / 1024
	// smallBytes is the size up to which writes do not wait for larger ones.
	smallBytes = 64 << 10
	// recheck is how often a delayed write checks whether the pause is over.
	recheck = 200 * time.Millisecond
)

// pace delays writes.
type pace struct {
	delayed atomic.Int64
	mu      sync.Mutex
	// next is when the next write may be proposed: of those up to smallBytes, and of larger ones.
	next [2]time.Time
	// logged is when a delay was logged last.
	logged time.Time
}

// Admit returns when a write of n bytes may be proposed. That is at once unless the log is large. The error is
// storage.ErrNotWritten if it would be after the deadline of ctx, or that of ctx.
func (l *Log) Admit(ctx context.Context, n int64) error {
	if l == nil {
		return nil
	}
	kept := l.Kept()
	if kept < large(l.limit) {
		return nil
	}
	at, err := l.pace.reserve(ctx, n, rate(kept, l.limit))
	if err != nil {
		return err
	}
	for left := time.Until(at); left > 0 && l.Kept() >= large(l.limit); left = time.Until(at) {
		select {
		case <-time.After(min(left, recheck)):
		case <-l.server.StoppingNotify():
			return storage.ErrStopped
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", storage.ErrNotWritten, ctx.Err())
		}
	}
	return nil
}

// reserve returns when a write of n bytes may be proposed, at a rate in bytes a second.
func (p *pace) reserve(ctx context.Context, n int64, rate float64) (time.Time, error) {
	now, took := time.Now(), time.Duration(float64(n)/rate*float64(time.Second))
	p.mu.Lock()
	defer p.mu.Unlock()
	next, at := &p.next[0], now
	if n > smallBytes {
		next = &p.next[1]
	}
	if next.After(now) {
		at = *next
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(at) {
		return at, fmt.Errorf("%w: the log of the embedded etcd is full, because a member is catching up",
			storage.ErrNotWritten)
	}
	*next = at.Add(took)
	if at.After(now) {
		p.delayed.Add(1)
		if now.Sub(p.logged) > pausedFor {
			p.logged = now
			klog.InfoS("Delaying writes: the log of the embedded etcd is large, because a member is catching up",
				"bytesPerSecond", int64(rate))
		}
	}
	return at, nil
}

// rate returns how many bytes a second are written while a log has kept bytes of its limit.
func rate(kept, limit int64) float64 {
	return max(float64(limit-kept)/pausedFor.Seconds(), float64(limit)*leastRate)
}

// Limit returns the limit of Kept, which delays of writes keep to.
func (l *Log) Limit() int64 {
	if l == nil {
		return 0
	}
	return l.limit
}

// Delayed returns how many writes were delayed.
func (l *Log) Delayed() int64 {
	if l == nil {
		return 0
	}
	return l.pace.delayed.Load()
}
