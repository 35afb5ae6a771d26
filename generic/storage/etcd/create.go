package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane.dev/generic/storage"
)

// Create implements storage.Backend.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	k := []byte(key)
	revision := int64(0)
	err := s.leases.withLease(ctx, ttl, func(lease int64) error {
		resp, err := s.transact(ctx, &pb.TxnRequest{Compare: equals(k, 0), Success: opPut(k, value, lease)})
		if err != nil {
			return err
		}
		if !resp.Succeeded {
			return storage.ErrExists
		}
		revision = resp.Header.Revision
		return nil
	})
	return revision, err
}
