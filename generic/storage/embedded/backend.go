package embedded

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"triplane/generic/storage"
	"triplane/generic/storage/etcd"
)

// Backend is storage.Backend on the server in this process.
type Backend struct {
	*etcd.Store
	server *etcdserver.EtcdServer
}

var _ storage.Backend = (*Backend)(nil)

func newBackend(server *etcdserver.EtcdServer, leases etcd.LeaseOptions) *Backend {
	return &Backend{
		Store:  etcd.NewStore(directKV{server}, etcd.StoreOptions{Serializable: true, Leases: leases}),
		server: server,
	}
}

// Revision implements storage.Backend: all writes pass through this process, so
// the store's own revision is at least that of any acknowledged one.
func (b *Backend) Revision(context.Context) (int64, error) { return b.server.KV().Rev(), nil }

// AlwaysCurrent tells that a watch follows every write by itself.
func (b *Backend) AlwaysCurrent() bool { return true }

// RequestProgress implements storage.Backend: the watch is always current.
func (b *Backend) RequestProgress(context.Context) error { return nil }

// DatabaseSize implements storage.Backend.
func (b *Backend) DatabaseSize(context.Context) (int64, error) {
	return b.server.Backend().Size(), nil
}

// directKV calls the server's methods, with its errors named as in package
// storage.
type directKV struct{ server *etcdserver.EtcdServer }

func (d directKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	resp, err := d.server.Range(ctx, r)
	return resp, translate(err)
}

func (d directKV) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	resp, err := d.server.Txn(ctx, r)
	return resp, translate(err)
}

func (d directKV) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	resp, err := d.server.Compact(ctx, r)
	return resp, translate(err)
}

func (d directKV) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	resp, err := d.server.LeaseGrant(ctx, r)
	return resp, translate(err)
}

// translate names the errors that a server returns to callers in its own
// process. They are compared by identity, as the server returns them bare.
func translate(err error) error {
	switch err {
	case nil:
		return nil
	case mvcc.ErrCompacted:
		return storage.ErrCompacted
	case mvcc.ErrFutureRev:
		return storage.ErrFutureRevision
	case etcderrors.ErrRequestTooLarge:
		return storage.ErrTooLarge
	case etcderrors.ErrStopped, etcderrors.ErrCanceled:
		return storage.ErrStopped
	}
	return err
}
