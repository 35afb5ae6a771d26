package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

// CompactKey coordinates compaction among the replicas of all API servers on an etcd cluster. Its version is
// the number of compactions. Its value is the revision that was current at the last one.
const CompactKey = "compact_rev_key"

// RunCompactor compacts, at each interval, the revisions that are older than one interval, until ctx ends. At
// each interval one replica does this: the one whose transaction on CompactKey succeeds. An interval of 0
// disables compaction.
func (s *Store) RunCompactor(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		return
	}
	c := &compactor{store: s}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := c.step(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to compact etcd, retrying", "interval", interval)
		}
	}
}

// compactor is the state between two steps.
type compactor struct {
	store    *Store
	version  int64 // last known version of CompactKey
	revision int64 // current revision at the last step
}

// step compacts to the revision of the last step, unless another replica has done so since.
func (c *compactor) step(ctx context.Context) error {
	target := c.revision
	won, err := c.agree(ctx)
	if err != nil || !won || target == 0 {
		return err
	}
	err = c.store.Compact(ctx, target)
	if errors.Is(err, storage.ErrCompacted) {
		return nil
	}
	if err == nil {
		klog.V(4).InfoS("Compacted etcd", "revision", target)
	}
	return err
}

// agree updates CompactKey if it has the last known version. It then reads its current version.
func (c *compactor) agree(ctx context.Context) (won bool, err error) {
	key := []byte(CompactKey)
	resp, err := c.store.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{{
			Result:      pb.Compare_EQUAL,
			Target:      pb.Compare_VERSION,
			Key:         key,
			TargetUnion: &pb.Compare_Version{Version: c.version},
		}},
		Success: opPut(key, strconv.AppendInt(nil, c.revision, 10), 0),
		Failure: opGet(key),
	})
	if err != nil {
		return false, translate(ctx, err)
	}
	c.revision = resp.Header.Revision
	if resp.Succeeded {
		c.version++
		return true, nil
	}
	c.version = 0
	if kvs := resp.Responses[0].GetResponseRange().GetKvs(); len(kvs) == 1 {
		c.version = kvs[0].Version
	}
	return false, nil
}
