package embedded

import (
	"bytes"
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"triplane.dev/generic/storage"
)

// Watch implements storage.Backend.
//
// The stream watches all keys and returns those under prefix. Each write therefore advances its progress, so
// that it is never far behind the store's revision.
func (b *Backend) Watch(ctx context.Context, prefix string, from int64,
	needPrevious func(key string) bool) (storage.ChangeStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !b.gate.enter() {
		return nil, storage.ErrStopped
	}
	defer b.gate.leave()
	ws := b.server.Watchable().NewWatchStream()
	// The context of a watch is only for its span, which is not that of ctx: the stream would end it.
	if _, err := ws.Watch(context.Background(), clientv3.AutoWatchID, []byte{0}, []byte{}, from+1); err != nil {
		ws.Close()
		return nil, err
	}
	return &stream{
		ws: ws, kv: b.server.KV(), gate: b.gate, stopped: b.server.StoppingNotify(), ctx: ctx,
		prefix: []byte(prefix), progress: from, needPrevious: needPrevious,
	}, nil
}

// stream implements storage.ChangeStream with the store's watch.
type stream struct {
	ws           mvcc.WatchStream
	kv           mvcc.KV
	gate         *gate
	stopped      <-chan struct{}
	ctx          context.Context
	prefix       []byte
	progress     int64
	needPrevious func(string) bool
	changes      []storage.Change
	closing      sync.Once
}

// Close implements storage.ChangeStream.
func (s *stream) Close() { s.closing.Do(s.ws.Close) }

// Next implements storage.ChangeStream. It returns all available changes. They are valid until the next call.
func (s *stream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	s.changes = s.changes[:0]
	select {
	case resp, ok := <-s.ws.Chan():
		return s.gather(resp, ok)
	case <-s.stopped:
		return nil, s.progress, storage.ErrStopped
	case <-s.ctx.Done():
		return nil, s.progress, s.ctx.Err()
	case <-ctx.Done():
		return nil, s.progress, ctx.Err()
	}
}

// batchMax limits the changes of a batch, approximately, so that continuous writes do not block readers.
const batchMax = 256

func (s *stream) gather(resp mvcc.WatchResponse, ok bool) ([]storage.Change, int64, error) {
	for {
		if !ok {
			return nil, s.progress, storage.ErrStopped
		}
		if resp.CompactRevision != 0 {
			return nil, s.progress, storage.ErrCompacted
		}
		s.take(resp)
		if len(s.changes) >= batchMax {
			return s.changes, s.progress, nil
		}
		select {
		case resp, ok = <-s.ws.Chan():
		default:
			return s.changes, s.progress, nil
		}
	}
}

func (s *stream) take(resp mvcc.WatchResponse) {
	for _, e := range resp.Events {
		s.progress = max(s.progress, e.Kv.ModRevision)
		if bytes.HasPrefix(e.Kv.Key, s.prefix) {
			s.changes = append(s.changes, s.change(e))
		}
	}
}

func (s *stream) change(e *mvccpb.Event) storage.Change {
	c := storage.Change{Key: string(e.Kv.Key), Revision: e.Kv.ModRevision}
	if e.Type == mvccpb.PUT {
		c.Value = e.Kv.Value
		if c.Value == nil {
			c.Value = []byte{}
		}
		if e.Kv.Version == 1 {
			return c // a creation has no previous value
		}
	}
	if s.needPrevious == nil || s.needPrevious(c.Key) {
		c.Previous, c.PrevRev = s.previous(e.Kv)
	}
	return c
}

// previous returns the value of a key before a change, or nil if it is compacted.
func (s *stream) previous(kv *mvccpb.KeyValue) ([]byte, int64) {
	if !s.gate.enter() {
		return nil, 0
	}
	defer s.gate.leave()
	r, err := s.kv.Range(context.Background(), kv.Key, nil, mvcc.RangeOptions{Rev: kv.ModRevision - 1})
	if err != nil || len(r.KVs) == 0 {
		return nil, 0
	}
	return r.KVs[0].Value, r.KVs[0].ModRevision
}
