package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/klog/v2"

	"triplane/generic/storage"
)

// CompactKey is where the replicas of all API servers on an etcd agree about
// compaction. Its version counts the compactions, its value is the revision that
// was current when the latest one was agreed.
const CompactKey = "compact_rev_key"

// RunCompactor compacts, every interval, what was current one interval before,
// until ctx ends. Of all replicas one does it in each interval: the one whose
// transaction on CompactKey succeeds. An interval of 0 means never.
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
			klog.ErrorS(err, "Compaction of etcd failed, it will be tried again", "interval", interval)
		}
	}
}

// compactor remembers between two steps what the agreement looked like.
type compactor struct {
	store    *Store
	version  int64 // of CompactKey, as last seen
	revision int64 // that was current at the last step
}

// step compacts to the revision of the last step, if no other replica has done
// so since.
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

// agree moves CompactKey on if it is as this replica last saw it, and notes what
// it is now.
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
