package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Compact implements storage.Backend. Compacting what is compacted already is
// storage.ErrCompacted.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	_, err := s.kv.Compact(ctx, &pb.CompactionRequest{Revision: revision})
	return translate(ctx, err)
}
