package memory

import (
	"context"
	"sort"
	"strings"

	"triplane.dev/generic/storage"
)

// batchMax limits the changes per batch, so that continuous writes do not block readers.
const batchMax = 256

// Watch implements storage.Backend. Changes always have the previous value.
func (b *Backend) Watch(ctx context.Context, prefix string, from int64, _ func(key string) bool) (storage.ChangeStream,
	error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if from < b.compacted {
		return nil, storage.ErrCompacted
	}
	return &stream{backend: b, ctx: ctx, prefix: prefix, progress: from}, nil
}

// stream implements storage.ChangeStream. It is a position in the log.
type stream struct {
	backend  *Backend
	ctx      context.Context
	prefix   string
	progress int64
	changes  []storage.Change
}

// Close implements storage.ChangeStream. It does nothing.
func (s *stream) Close() {}

// Next implements storage.ChangeStream.
func (s *stream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, s.progress, err
		}
		changed, err := s.read()
		if err != nil || changed == nil {
			return s.changes, s.progress, err
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return nil, s.progress, s.ctx.Err()
		case <-ctx.Done():
			return nil, s.progress, ctx.Err()
		}
	}
}

// read takes the next changes. If there are none, it returns a channel that is closed at the next write.
func (s *stream) read() (changed <-chan struct{}, err error) {
	b := s.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	s.changes = s.changes[:0]
	switch {
	case b.closed:
		return nil, storage.ErrStopped
	case s.progress < b.compacted:
		return nil, storage.ErrCompacted
	case s.progress >= b.revision:
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		return b.changed, nil
	}
	first := sort.Search(len(b.log), func(i int) bool { return b.log[i].Revision > s.progress })
	next := b.log[first:min(first+batchMax, len(b.log))]
	for _, c := range next {
		if strings.HasPrefix(c.Key, s.prefix) {
			s.changes = append(s.changes, c)
		}
		s.progress = c.Revision
	}
	return nil, nil
}
