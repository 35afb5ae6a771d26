package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

const (
	// removeLimit and expireLimit limit the rows of one transaction, which holds locks.
	removeLimit = 1000
	expireLimit = 500
	// expireInterval is how often expired keys are searched.
	expireInterval = time.Second

	compactSQL = `UPDATE triplane.store SET compacted = $1 WHERE compacted < $1 AND $1 <= triplane.latest()`
	// stepSQL compacts to the target of the last step, unless another process has done so within the interval.
	stepSQL = `UPDATE triplane.store SET compacted = greatest(compacted, target), target = triplane.latest(),
		stepped = clock_timestamp() WHERE stepped <= clock_timestamp() - $1 * interval '1 second'`
)

// Compact implements storage.Backend.
func (b *Backend) Compact(ctx context.Context, revision int64) error {
	tag, err := b.pool.Exec(ctx, compactSQL, revision)
	if err != nil {
		return b.translate(ctx, err)
	}
	if tag.RowsAffected() == 0 {
		_, err := b.Revision(ctx) // reads what is compacted as well
		switch {
		case err != nil:
			return err
		case revision <= b.poller.state().compacted:
			return storage.ErrCompacted
		}
		return storage.ErrFutureRevision
	}
	b.poller.compact(revision)
	return b.remove(ctx)
}

// state returns the state of the store at the last poll.
func (p *poller) state() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return state{p.seen, p.compacted}
}

// compact records a compaction of this process before the next poll.
func (p *poller) compact(revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compacted = max(p.compacted, revision)
}

// remove deletes superseded rows in batches, unless another process does so.
func (b *Backend) remove(ctx context.Context) error {
	for more := true; more; {
		if err := b.pool.QueryRow(ctx, "SELECT triplane.remove($1)", removeLimit).Scan(&more); err != nil {
			return b.translate(ctx, err)
		}
	}
	return nil
}

// RunCompactor compacts, at each interval, the revisions that are older than one interval, until ctx ends. It also
// deletes expired keys. At each interval one of all processes compacts. An interval of 0 disables compaction.
func (b *Backend) RunCompactor(ctx context.Context, interval time.Duration) {
	var running worker.Group
	running.Keep(ctx, b.expire)
	defer running.Wait()
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := b.step(ctx, interval); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to compact PostgreSQL, retrying", "interval", interval)
		}
	}
}

// step compacts to the revision of the last step, unless another process has done so.
func (b *Backend) step(ctx context.Context, interval time.Duration) error {
	tag, err := b.pool.Exec(ctx, stepSQL, interval.Seconds()*0.9)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return b.remove(ctx)
}

// expire deletes expired keys until ctx ends.
func (b *Backend) expire(ctx context.Context) {
	ticker := time.NewTicker(expireInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for n := expireLimit; n == expireLimit && ctx.Err() == nil; {
			err := b.pool.QueryRow(ctx, "SELECT triplane.expire($1)", expireLimit).Scan(&n)
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, pgx.ErrNoRows) {
					klog.V(2).InfoS("Failed to delete expired keys, retrying", "err", err)
				}
				break
			}
		}
	}
}
