package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/raft/v3"

	"triplane.dev/generic/storage"
)

// agreement coordinates reads and writes with the other members. A single member is its own majority. It is
// safe for concurrent use.
type agreement struct {
	server raftServer
	// reach tracks which members are connected; nil for a single member.
	reach *reach
	// noLeader is set after a read or a proposal has timed out without a leader. Later ones then fail at once.
	noLeader atomic.Bool
	// epoch is that of the current leader; nil for a single member.
	epoch atomic.Pointer[epoch]
}

// raftServer is the part of etcd's server that an agreement uses.
type raftServer interface {
	MemberID() types.ID
	Leader() types.ID
	LinearizableReadNotify(ctx context.Context) error
	StoppingNotify() <-chan struct{}
}

// epoch ends a while after another member becomes the leader.
type epoch struct {
	ctx context.Context
	end context.CancelFunc
}

const (
	// appliedWithin is how long after the election of a leader every surviving entry of its predecessor is
	// applied, unless the members agree earlier. A proposal that is not applied by then was most likely sent to
	// the predecessor only.
	appliedWithin = 2 * time.Second
	// notifiedWithin is how long after that its proposers are notified.
	notifiedWithin = 200 * time.Millisecond
)

// renew starts an epoch and returns a function that ends the previous one.
func (a *agreement) renew() (end context.CancelFunc) {
	ctx, end := context.WithCancel(context.Background())
	if last := a.epoch.Swap(&epoch{ctx, end}); last != nil {
		return last.end
	}
	return func() {}
}

// awaitAgreement ends the previous epoch when the members have agreed with the new leader. All entries that its
// predecessor committed are applied then.
func (a *agreement) awaitAgreement(ctx context.Context, end context.CancelFunc) {
	within, cancel := context.WithTimeout(ctx, appliedWithin)
	defer cancel()
	if a.agree(within) != nil {
		<-within.Done()
	}
	time.AfterFunc(notifiedWithin, end)
}

// agreeWithin limits how long a read or a proposal waits for a leader and a majority: the time of a few
// elections. The timeout of etcd is for one read index, which may have to wait for earlier ones.
const agreeWithin = 5 * time.Second

var (
	errNoMajority  = fmt.Errorf("%w: the members do not agree", storage.ErrUnavailable)
	errNotProposed = fmt.Errorf("%w: the members have no leader", storage.ErrNotWritten)
)

// leader returns the current leader, or 0 if there is none or it is not connected.
func (a *agreement) leader() types.ID {
	leader := a.server.Leader()
	if a.reach != nil && leader != 0 && leader != a.server.MemberID() && a.reach.isInactive(leader) {
		return 0
	}
	return leader
}

// leaderless reports whether an earlier call has timed out and there is still no leader. With a leader, it
// resets this state.
func (a *agreement) leaderless() bool {
	if !a.noLeader.Load() {
		return false
	}
	if a.leader() != 0 {
		a.noLeader.Store(false)
		return false
	}
	return true
}

// markLeaderless records that a call has timed out without a leader.
func (a *agreement) markLeaderless() { a.noLeader.Store(a.leader() == 0) }

// agree returns when this member has applied everything that any member acknowledged before the call. It uses
// raft's read index: the leader returns its commit index after a majority has confirmed its leadership.
// Concurrent calls share a request.
func (a *agreement) agree(ctx context.Context) error {
	if a.leaderless() {
		return errNoMajority
	}
	within, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	for {
		err := a.server.LinearizableReadNotify(within)
		switch {
		case errors.Is(err, etcderrors.ErrLeaderChanged):
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			a.markLeaderless()
			return errNoMajority
		default:
			return translate(err)
		}
	}
}

// proposeInterval is the interval between checks for a leader.
const proposeInterval = 10 * time.Millisecond

// proposeWithRetry proposes a change when there is a leader. Without one it waits, because raft would drop the
// proposal or send it to the previous leader; after the timeout it returns storage.ErrNotWritten. A proposal
// without a response is not retried, because it may have been applied, or may be applied later.
func proposeWithRetry[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (result T,
	err error) {
	var within context.Context
	for {
		if a.epoch.Load() == nil || a.leader() != 0 {
			result, err = proposeOnce(ctx, a, propose)
			if !errors.Is(err, raft.ErrProposalDropped) {
				return result, translate(err)
			}
		}
		if a.leaderless() {
			return result, errNotProposed
		}
		if within == nil {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, agreeWithin)
			defer cancel()
		}
		select {
		case <-time.After(proposeInterval):
		case <-a.server.StoppingNotify():
			return result, storage.ErrStopped
		case <-within.Done():
			if ctx.Err() != nil {
				return result, ctx.Err()
			}
			a.markLeaderless()
			return result, errNotProposed
		}
	}
}

// proposeOnce proposes a change. If the leader changes and the proposal is not applied, it returns before
// etcd's timeout of seven seconds.
func proposeOnce[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (T, error) {
	bounded := ctx
	if epoch := a.epoch.Load(); epoch != nil {
		var cancel context.CancelFunc
		bounded, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(epoch.ctx, cancel)()
	}
	result, err := propose(bounded)
	if ctx.Err() == nil && contextEnded(err) {
		err = etcderrors.ErrTimeoutDueToLeaderFail // etcd's timeout, or the end of the epoch
	}
	return result, err
}

// contextEnded reports whether an error of etcd means that a context has ended.
func contextEnded(err error) bool {
	return errors.Is(err, etcderrors.ErrCanceled) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// current returns the revision of this member's store.
func current(server *etcdserver.EtcdServer) int64 {
	// A ConcurrentReadTxMode transaction, which KV().Rev() uses, copies everything that is not committed to the
	// file.
	read := server.KV().Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer read.End()
	return read.Rev()
}
