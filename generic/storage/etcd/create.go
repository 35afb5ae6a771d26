package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane/generic/storage"
)

// Create implements storage.Backend.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	lease, err := s.leases.get(ctx, ttl)
	if err != nil {
		return 0, err
	}
	k := []byte(key)
	resp, err := s.kv.Txn(ctx, &pb.TxnRequest{Compare: equals(k, 0), Success: opPut(k, value, lease)})
	if err != nil {
		return 0, translate(ctx, err)
	}
	if !resp.Succeeded {
		return 0, storage.ErrExists
	}
	return resp.Header.Revision, nil
}
