package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"triplane.dev/generic/storage"
)

// Get implements storage.Backend.
func (s *Store) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	resp, err := s.kv.Range(ctx, &pb.RangeRequest{Key: []byte(key), Serializable: s.serializable})
	if err != nil {
		return storage.KeyValue{}, translate(ctx, err)
	}
	if len(resp.Kvs) == 0 {
		return storage.KeyValue{}, storage.ErrNotFound
	}
	return keyValue(resp.Kvs[0]), nil
}

func keyValue(kv *mvccpb.KeyValue) storage.KeyValue {
	return storage.KeyValue{Key: string(kv.Key), Value: kv.Value, Revision: kv.ModRevision}
}
