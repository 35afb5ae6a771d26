package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane.dev/generic/storage"
)

// Check returns an error unless etcd serves a linearizable read within the timeout. It reads a key below prefix
// that does not exist.
func Check(ctx context.Context, backend storage.Backend, prefix string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := backend.Get(ctx, strings.TrimSuffix(prefix, "/")+"/health")
	switch {
	case err == nil, errors.Is(err, storage.ErrNotFound):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("etcd did not answer within %v", timeout)
	}
	return fmt.Errorf("error getting data from etcd: %w", err)
}

// currentRevision returns the store's revision.
func (s *Store) currentRevision(ctx context.Context) (int64, error) {
	resp, err := s.kv.Range(ctx, &pb.RangeRequest{Key: []byte(CompactKey), CountOnly: true, Serializable: s.serializable})
	if err != nil {
		return 0, translate(ctx, err)
	}
	return resp.Header.Revision, nil
}
