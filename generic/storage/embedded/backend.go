package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/raft/v3"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded/raftlog"
	"triplane.dev/generic/storage/etcd"
	"triplane.dev/internal/worker"
)

// Backend implements storage.Backend with the server in this process.
type Backend struct {
	*etcd.Store
	server   *etcdserver.EtcdServer
	members  *agreement
	revision *seen
	gate     *gate
	space    *space
	// shared is set if clients of this member write as well. clustered is set if there may be other members.
	shared    atomic.Bool
	clustered bool
}

var _ storage.Backend = (*Backend)(nil)

func newBackend(s *Server, space *space, leases etcd.LeaseOptions) *Backend {
	revision := &seen{}
	revision.observe(current(s.etcd))
	kv := directKV{server: s.etcd, members: s.members, revision: revision, gate: s.gate, space: space, log: s.log}
	return &Backend{
		Store:     etcd.NewStore(kv, etcd.StoreOptions{Serializable: !s.clustered, Leases: leases}),
		server:    s.etcd,
		members:   s.members,
		revision:  revision,
		gate:      s.gate,
		space:     space,
		clustered: s.clustered,
	}
}

// RunCompactor compacts at each interval, like with a client of etcd, and manages the space and the mapped pages of the
// file, until ctx ends.
func (b *Backend) RunCompactor(ctx context.Context, interval time.Duration) {
	var running worker.Group
	running.Keep(ctx, b.space.keep)
	if !b.clustered { // the leader of a cluster may send another file, and mappings must not change
		p := &pages{server: b.server, gate: b.gate, limit: mappedMax}
		running.Keep(ctx, p.keep)
	}
	b.Store.RunCompactor(ctx, interval)
	running.Wait()
}

// Revision implements storage.Backend with the latest revision in any response. All writes pass through this
// Backend, so no acknowledged write is newer. The store's own revision would need a read transaction, which
// waits for commits to the disk file. It is only read if there are other writers, and in a cluster after the
// members have agreed.
func (b *Backend) Revision(ctx context.Context) (int64, error) {
	if b.clustered {
		if err := b.members.agree(ctx); err != nil {
			return 0, err
		}
	} else if !b.shared.Load() {
		return b.revision.latest.Load(), nil
	}
	if !b.gate.enter() {
		return 0, storage.ErrStopped
	}
	defer b.gate.leave()
	return current(b.server), nil
}

// seen is the largest revision of all responses.
type seen struct{ latest atomic.Int64 }

func (s *seen) observe(revision int64) {
	for {
		latest := s.latest.Load()
		if revision <= latest || s.latest.CompareAndSwap(latest, revision) {
			return
		}
	}
}

// AlwaysCurrent implements storage.Backend. Watches report every revision.
func (b *Backend) AlwaysCurrent() bool { return true }

// RequestProgress implements storage.Backend. It does nothing.
func (b *Backend) RequestProgress(context.Context) error { return nil }

// DatabaseSize implements storage.Backend.
func (b *Backend) DatabaseSize(context.Context) (int64, error) {
	if !b.gate.enter() {
		return 0, storage.ErrStopped
	}
	defer b.gate.leave()
	return b.server.Backend().Size(), nil
}

// directKV implements etcd.KV with the server's methods. It converts errors to those of package storage and
// records the revisions of responses.
type directKV struct {
	server   *etcdserver.EtcdServer
	members  *agreement
	revision *seen
	gate     *gate
	space    *space
	log      *raftlog.Log
}

func (d directKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if !r.Serializable { // before the gate is entered, which must be able to close while members do not respond
		if err := d.members.agree(ctx); err != nil {
			return nil, err
		}
		r.Serializable = true
	}
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
	if err := d.log.Admit(ctx, putBytes(r)); err != nil {
		return nil, err
	}
	resp, err := proposeWithRetry(ctx, d.members, func(ctx context.Context) (*pb.TxnResponse,
		error) {
		return d.server.Txn(ctx, r)
	})
	if err != nil {
		return nil, err
	}
	d.revision.observe(resp.Header.Revision)
	return resp, nil
}

func (d directKV) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	return proposeWithRetry(ctx, d.members, func(ctx context.Context) (*pb.CompactionResponse,
		error) {
		return d.server.Compact(ctx, r)
	})
}

func (d directKV) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return proposeWithRetry(ctx, d.members, func(ctx context.Context) (*pb.LeaseGrantResponse,
		error) {
		return d.server.LeaseGrant(ctx, r)
	})
}

// translate converts errors of a server in this process to those of package storage.
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
	for _, target := range unavailableErrors {
		if errors.Is(err, target) {
			return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
	}
	return err
}

// unavailableErrors are the errors of a cluster that has no majority or has just lost its leader.
var unavailableErrors = []error{
	raft.ErrProposalDropped, etcderrors.ErrNoLeader, etcderrors.ErrLeaderChanged, etcderrors.ErrNotLeader,
	etcderrors.ErrTooManyRequests,
	etcderrors.ErrTimeout, etcderrors.ErrTimeoutDueToLeaderFail, etcderrors.ErrTimeoutDueToConnectionLost,
	etcderrors.ErrTimeoutWaitAppliedIndex,
}
