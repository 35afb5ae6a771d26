package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"triplane.dev/generic/storage"
)

// revisionTimeout limits the read of the current revision. Callers share this read, so it does not use the
// context of any.
const revisionTimeout = 10 * time.Second

// Backend implements storage.Backend with an etcd client.
type Backend struct {
	*Store
	client    *clientv3.Client
	revisions *sharedCall
}

var _ storage.Backend = (*Backend)(nil)

// New returns a Backend with a client, which the caller closes.
func New(client *clientv3.Client, leases LeaseOptions) *Backend {
	b := &Backend{
		Store: NewStore(clientKV{
			kv:    clientv3.RetryKVClient(client),
			lease: clientv3.RetryLeaseClient(client),
		}, StoreOptions{Leases: leases}),
		client: client,
	}
	b.revisions = &sharedCall{call: b.currentRevision, timeout: revisionTimeout}
	return b
}

// Close closes the client. Calls and watches in progress end.
func (b *Backend) Close() error { return b.client.Close() }

// clientKV implements KV with a client's connection. It uses the messages of the protocol instead of clientv3's
// operations, which would be converted to these messages on each request.
type clientKV struct {
	kv    pb.KVClient
	lease pb.LeaseClient
}

func (c clientKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return c.kv.Range(ctx, r)
}

func (c clientKV) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	return c.kv.Txn(ctx, r)
}

func (c clientKV) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	return c.kv.Compact(ctx, r)
}

func (c clientKV) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return c.lease.LeaseGrant(ctx, r)
}
