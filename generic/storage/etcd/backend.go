package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"triplane/generic/storage"
)

// revisionTimeout bounds the read that asks for the current revision, which is
// made for many callers at once and so under none of their contexts.
const revisionTimeout = 10 * time.Second

// Backend is storage.Backend over an etcd client.
type Backend struct {
	*Store
	client    *clientv3.Client
	revisions *sharedCall
}

var _ storage.Backend = (*Backend)(nil)

// New returns a Backend over client, which stays the caller's to close.
func New(client *clientv3.Client, leases LeaseOptions) *Backend {
	b := &Backend{
		Store: NewStore(clientKV{
			kv:    clientv3.RetryKVClient(client),
			lease: clientv3.RetryLeaseClient(client),
		}, StoreOptions{Leases: leases}),
		client: client,
	}
	b.revisions = &sharedCall{ask: b.currentRevision, timeout: revisionTimeout}
	return b
}

// Close closes the client; running calls and watches end.
func (b *Backend) Close() error { return b.client.Close() }

// clientKV is KV over a client's connection. It uses the protocol's messages,
// not the client's operations built on top of them, so that a request is built
// once.
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
