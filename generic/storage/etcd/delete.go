package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Delete implements storage.Backend.
func (s *Store) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	k := []byte(key)
	return s.replace(ctx, key, expected, &pb.TxnRequest{
		Compare: equals(k, expected),
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: k},
		}}},
		Failure: opGet(k),
	})
}
