package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Compact implements storage.Backend. It returns storage.ErrCompacted if the revision has been compacted
// already.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	_, err := s.kv.Compact(ctx, &pb.CompactionRequest{Revision: revision})
	return translate(ctx, err)
}
