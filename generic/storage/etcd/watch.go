package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"triplane.dev/generic/storage"
)

// Watch implements storage.Backend. The stream ends when its member loses the leader, so that partitions are
// noticed. etcd sends previous values for all keys or for none, so it sends them for all.
func (b *Backend) Watch(ctx context.Context, prefix string, from int64, _ func(string) bool) (storage.ChangeStream,
	error) {
	ctx, cancel := context.WithCancel(watchContext(ctx))
	key, end := bounds(prefix)
	ch := b.client.Watch(ctx, string(key),
		clientv3.WithRange(string(end)),
		clientv3.WithRev(from+1),
		clientv3.WithPrevKV(),
		clientv3.WithProgressNotify(),
	)
	return &stream{ch: ch, ctx: ctx, cancel: cancel, progress: from}, nil
}

// watchContext returns a context with which all watches and progress requests share one gRPC stream: the client
// keys its streams by the metadata of the context.
func watchContext(ctx context.Context) context.Context {
	return clientv3.WithRequireLeader(ctx)
}

// stream implements storage.ChangeStream with a client's watch channel.
type stream struct {
	ch       clientv3.WatchChan
	ctx      context.Context
	cancel   context.CancelFunc
	progress int64
	changes  []storage.Change
}

// Close implements storage.ChangeStream.
func (s *stream) Close() { s.cancel() }

// Next implements storage.ChangeStream. The changes are valid until the next call.
func (s *stream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	for {
		select {
		case resp, ok := <-s.ch:
			if !ok {
				return nil, s.progress, s.ended()
			}
			if err := resp.Err(); err != nil {
				return nil, s.progress, translate(s.ctx, err)
			}
			if s.take(&resp) {
				return s.changes, s.progress, nil
			}
		case <-ctx.Done():
			return nil, s.progress, ctx.Err()
		}
	}
}

func (s *stream) ended() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return storage.ErrStopped
}

// take stores the changes of a response and reports whether there are any.
func (s *stream) take(resp *clientv3.WatchResponse) bool {
	s.changes = s.changes[:0]
	if len(resp.Events) == 0 {
		if !resp.IsProgressNotify() || resp.Header.Revision <= s.progress {
			return false
		}
		s.progress = resp.Header.Revision
		return true
	}
	for _, e := range resp.Events {
		s.changes = append(s.changes, change(e.Type, e.Kv, e.PrevKv))
	}
	s.progress = resp.Events[len(resp.Events)-1].Kv.ModRevision
	return true
}

func change(t mvccpb.Event_EventType, kv, prev *mvccpb.KeyValue) storage.Change {
	c := storage.Change{Key: string(kv.Key), Revision: kv.ModRevision}
	if t == mvccpb.PUT {
		c.Value = kv.Value
		if c.Value == nil {
			c.Value = []byte{}
		}
	}
	if prev != nil {
		c.Previous, c.PrevRev = prev.Value, prev.ModRevision
	}
	return c
}
