package embedded

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/raft/v3"

	"triplane/generic/storage"
	"triplane/generic/storage/etcd"
	"triplane/internal/worker"
)

// Backend is storage.Backend on the server in this process.
type Backend struct {
	*etcd.Store
	server   *etcdserver.EtcdServer
	revision *seen
	gate     *gate
	space    *space
	// shared is whether others write, too.
	shared atomic.Bool
}

var _ storage.Backend = (*Backend)(nil)

func newBackend(server *etcdserver.EtcdServer, gate *gate, space *space, leases etcd.LeaseOptions) *Backend {
	revision := &seen{}
	revision.observe(server.KV().Rev())
	kv := directKV{server: server, revision: revision, gate: gate, space: space}
	return &Backend{
		Store:    etcd.NewStore(kv, etcd.StoreOptions{Serializable: true, Leases: leases}),
		server:   server,
		revision: revision,
		gate:     gate,
		space:    space,
	}
}

// RunCompactor compacts every interval, as a client of etcd does, and looks after the space, until
// ctx ends.
func (b *Backend) RunCompactor(ctx context.Context, interval time.Duration) {
	var running worker.Group
	running.Keep(ctx, b.space.keep)
	b.Store.RunCompactor(ctx, interval)
	running.Wait()
}

// Revision implements storage.Backend with the latest revision that any answer
// has reported: no write has been acknowledged that is newer, since all are made
// through this Backend. (The store's own revision would cost a read transaction,
// which copies what is not committed to the disk file yet. It is asked where others
// write, too.)
func (b *Backend) Revision(context.Context) (int64, error) {
	if !b.shared.Load() {
		return b.revision.latest.Load(), nil
	}
	if !b.gate.enter() {
		return 0, storage.ErrStopped
	}
	defer b.gate.leave()
	return b.server.KV().Rev(), nil
}

// seen is the largest revision of all answers.
type seen struct{ latest atomic.Int64 }

func (s *seen) observe(revision int64) {
	for {
		latest := s.latest.Load()
		if revision <= latest || s.latest.CompareAndSwap(latest, revision) {
			return
		}
	}
}

// AlwaysCurrent implements storage.Backend: a watch follows every write by itself.
func (b *Backend) AlwaysCurrent() bool { return true }

// RequestProgress implements storage.Backend: there is nothing to do.
func (b *Backend) RequestProgress(context.Context) error { return nil }

// DatabaseSize implements storage.Backend.
func (b *Backend) DatabaseSize(context.Context) (int64, error) {
	if !b.gate.enter() {
		return 0, storage.ErrStopped
	}
	defer b.gate.leave()
	return b.server.Backend().Size(), nil
}

// directKV calls the server's methods, with its errors named as in package
// storage, and notes the revisions that the answers report.
type directKV struct {
	server   *etcdserver.EtcdServer
	revision *seen
	gate     *gate
	space    *space
}

func (d directKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if !d.gate.enter() {
		return nil, storage.ErrStopped
	}
	defer d.gate.leave()
	resp, err := d.server.Range(ctx, r)
	if err != nil {
		return nil, translate(err)
	}
	d.revision.observe(resp.Header.Revision)
	return resp, nil
}

func (d directKV) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := d.space.admit(r); err != nil {
		return nil, err
	}
	resp, err := d.server.Txn(ctx, r)
	if err != nil {
		return nil, translate(err)
	}
	d.revision.observe(resp.Header.Revision)
	return resp, nil
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
// process.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mvcc.ErrCompacted):
		return storage.ErrCompacted
	case errors.Is(err, mvcc.ErrFutureRev):
		return storage.ErrFutureRevision
	case errors.Is(err, etcderrors.ErrRequestTooLarge):
		return storage.ErrTooLarge
	case errors.Is(err, etcderrors.ErrNoSpace):
		return storage.ErrNoSpace
	case errors.Is(err, lease.ErrLeaseNotFound):
		return etcd.ErrLeaseLost
	case errors.Is(err, etcderrors.ErrStopped), errors.Is(err, raft.ErrStopped):
		return storage.ErrStopped
	}
	return err
}
