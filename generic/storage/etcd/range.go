package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"triplane.dev/generic/storage"
)

// Range implements storage.Backend.
func (s *Store) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	start, end := bounds(opts.Prefix)
	if opts.After != "" && opts.After >= opts.Prefix {
		start = append([]byte(opts.After), 0)
	}
	resp, err := s.kv.Range(ctx, &pb.RangeRequest{
		Key:          start,
		RangeEnd:     end,
		Limit:        opts.Limit,
		Revision:     opts.Revision,
		CountOnly:    opts.CountOnly,
		Serializable: s.serializable,
	})
	if err != nil {
		return storage.RangeResult{}, translate(ctx, err)
	}
	result := storage.RangeResult{Count: resp.Count, Revision: resp.Header.Revision, More: resp.More}
	if opts.Revision > 0 {
		result.Revision = opts.Revision
	}
	if len(resp.Kvs) > 0 {
		result.Items = make([]storage.KeyValue, len(resp.Kvs))
		for i, kv := range resp.Kvs {
			result.Items[i] = keyValue(kv)
		}
	}
	return result, nil
}

// bounds returns the range of keys with a prefix; end is exclusive. An empty prefix matches all keys.
func bounds(prefix string) (start, end []byte) {
	if prefix == "" {
		return []byte{0}, []byte{0}
	}
	return []byte(prefix), []byte(clientv3.GetPrefixRangeEnd(prefix))
}
