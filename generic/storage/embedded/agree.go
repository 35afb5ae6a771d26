package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/raft/v3"

	"triplane/generic/storage"
)

// agree returns when this member has all that any member had acknowledged before the call: the leader
// says how far that is, and a majority that it still leads. Calls share questions.
func agree(ctx context.Context, server *etcdserver.EtcdServer) error {
	for {
		err := server.LinearizableReadNotify(ctx)
		if !errors.Is(err, etcderrors.ErrLeaderChanged) {
			return translate(err)
		}
	}
}

// current is the revision of what this member has.
func current(server *etcdserver.EtcdServer) int64 {
	// A concurrent transaction, as KV().Rev() begins, would copy what is not committed to the file yet.
	read := server.KV().Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer read.End()
	return read.Rev()
}

// What raft has dropped since nobody leads is proposed again when there is a leader, looked for so
// often, and for so long, which is a few elections.
const (
	proposeAgainEvery = 50 * time.Millisecond
	proposeAgainFor   = 5 * time.Second
)

// proposed makes a proposal of a change, again while there is no leader: it was dropped then and has
// not happened. What was not answered is another matter, and not tried again.
func proposed[T any](ctx context.Context, server *etcdserver.EtcdServer, propose func() (T, error)) (T, error) {
	answer, err := propose()
	if !errors.Is(err, raft.ErrProposalDropped) {
		return answer, translate(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, proposeAgainFor, fmt.Errorf("%w: %w", storage.ErrUnavailable, err))
	defer cancel()
	again := time.NewTicker(proposeAgainEvery)
	defer again.Stop()
	for errors.Is(err, raft.ErrProposalDropped) {
		select {
		case <-again.C:
		case <-server.StoppingNotify():
			return answer, storage.ErrStopped
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
		answer, err = propose()
	}
	return answer, translate(err)
}
