package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane.dev/generic/storage"
)

// Update implements storage.Backend. A ttl of 0 detaches the key from its lease.
func (s *Store) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	k := []byte(key)
	revision := int64(0)
	err := s.leases.withLease(ctx, ttl, func(lease int64) (err error) {
		revision, err = s.replace(ctx, key, expected, &pb.TxnRequest{
			Compare: equals(k, expected),
			Success: opPut(k, value, lease),
			Failure: opGet(k),
		})
		return err
	})
	return revision, err
}

// replace runs a transaction that changes a key at its expected revision. It returns the revision of the
// change.
func (s *Store) replace(ctx context.Context, key string, expected int64, txn *pb.TxnRequest) (int64, error) {
	resp, err := s.transact(ctx, txn)
	if err != nil {
		return 0, err
	}
	if resp.Succeeded {
		return resp.Header.Revision, nil
	}
	conflict := &storage.ConflictError{Key: key, Expected: expected}
	if len(resp.Responses) > 0 {
		if found := resp.Responses[0].GetResponseRange(); found != nil && len(found.Kvs) == 1 {
			current := keyValue(found.Kvs[0])
			conflict.Current = &current
		}
	}
	return 0, conflict
}
