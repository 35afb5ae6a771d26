package postgres

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"triplane.dev/generic/storage"
)

// batchMax limits the changes of a batch.
const batchMax = 256

// Watch implements storage.Backend. Previous values are read for the keys that need them.
func (b *Backend) Watch(ctx context.Context, prefix string, from int64, needPrevious func(key string) bool) (
	storage.ChangeStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.ctx.Err() != nil {
		return nil, storage.ErrStopped
	}
	p := b.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if from < p.compacted {
		return nil, storage.ErrCompacted
	}
	p.streams++
	return &stream{backend: b, ctx: ctx, prefix: prefix, progress: from, epoch: p.epoch, needPrevious: needPrevious}, nil
}

// stream implements storage.ChangeStream. It is a position in the log of the poller, or before it.
type stream struct {
	backend      *Backend
	ctx          context.Context
	prefix       string
	progress     int64
	epoch        int
	needPrevious func(string) bool
	closing      sync.Once
	changes      []storage.Change
}

// Close implements storage.ChangeStream.
func (s *stream) Close() {
	s.closing.Do(func() {
		p := s.backend.poller
		p.mu.Lock()
		defer p.mu.Unlock()
		p.streams--
	})
}

// Next implements storage.ChangeStream. If the database cannot be reached, it waits.
func (s *stream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, s.progress, err
		}
		found, progress, changed, err := s.take()
		if err == nil && found == nil && changed == nil && progress == s.progress {
			found, progress, err = s.readBehind(ctx)
		}
		switch {
		case err != nil:
			return nil, s.progress, err
		case changed == nil:
			if err := s.deliver(ctx, found); err != nil {
				return nil, s.progress, err
			}
			s.progress = progress
			return s.changes, s.progress, nil
		}
		select {
		case <-changed:
		case <-s.backend.ctx.Done():
			return nil, s.progress, storage.ErrStopped
		case <-s.ctx.Done():
			return nil, s.progress, s.ctx.Err()
		case <-ctx.Done():
			return nil, s.progress, ctx.Err()
		}
	}
}

// take returns the next changes of the log, or a channel that is closed when there are more. It returns neither if the
// stream is before the log.
func (s *stream) take() (found []logged, progress int64, changed <-chan struct{}, err error) {
	p := s.backend.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.backend.ctx.Err() != nil:
		return nil, 0, nil, storage.ErrStopped
	case s.ctx.Err() != nil:
		return nil, 0, nil, s.ctx.Err()
	case s.epoch != p.epoch, s.progress < p.compacted:
		return nil, 0, nil, storage.ErrCompacted
	case s.progress < p.log.floor:
		return nil, s.progress, nil, nil
	case s.progress >= p.seen:
		return nil, s.progress, p.awaitProgress(), nil
	}
	log := p.log.changes
	first := sort.Search(len(log), func(i int) bool { return log[i].Revision > s.progress })
	last := min(first+batchMax, len(log))
	progress = p.seen
	if last < len(log) {
		progress = log[last-1].Revision
	}
	return log[first:last:last], progress, nil, nil
}

// readBehind reads the next changes from the database.
func (s *stream) readBehind(ctx context.Context) ([]logged, int64, error) {
	state, found, err := s.backend.changes(ctx, s.progress, batchMax)
	switch {
	case err != nil:
		return nil, 0, err
	case s.progress < state.compacted, s.progress > state.latest:
		return nil, 0, storage.ErrCompacted
	case len(found) < batchMax:
		return found, state.latest, nil
	}
	return found, found[len(found)-1].Revision, nil
}

// deliver sets the changes of the stream to those under its prefix, with the previous values that are needed.
func (s *stream) deliver(ctx context.Context, found []logged) error {
	s.changes = s.changes[:0]
	var wanted []int64
	for i := range found {
		c := &found[i]
		if !strings.HasPrefix(c.Key, s.prefix) || c.Key == "" {
			continue
		}
		s.changes = append(s.changes, c.Change)
		if c.previous > 0 && (s.needPrevious == nil || s.needPrevious(c.Key)) {
			wanted = append(wanted, c.previous)
			s.changes[len(s.changes)-1].PrevRev = c.previous
		}
	}
	if wanted == nil {
		return nil
	}
	values := make(map[int64][]byte, len(wanted))
	err := s.backend.read(ctx, func(rows pgx.Rows) error {
		var revision int64
		var value []byte
		err := rows.Scan(&revision, &value)
		values[revision] = value
		return err
	}, `SELECT revision, value FROM triplane.kv WHERE revision = ANY($1)`, wanted)
	for i := range s.changes {
		if c := &s.changes[i]; c.PrevRev > 0 {
			if c.Previous = values[c.PrevRev]; c.Previous == nil {
				c.PrevRev = 0 // it has been compacted
			}
		}
	}
	return err
}
