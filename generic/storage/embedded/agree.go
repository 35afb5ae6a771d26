package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/raft/v3"

	"triplane/generic/storage"
)

// agreement is the member's part in the cluster's consensus. A member that is alone is its own majority. It is
// safe for concurrent use.
type agreement struct {
	server *etcdserver.EtcdServer
	// lost is set while there has been no leader for so long that a read or a proposal was given up: further
	// ones fail at once.
	lost atomic.Bool
	// epoch is that of the present leader; nil where the member is alone.
	epoch atomic.Pointer[epoch]
}

// epoch ends a while after another member has begun to lead.
type epoch struct {
	ctx context.Context
	end context.CancelFunc
}

// appliedWithin is how long after the election of a leader everything is applied that survives its
// predecessor. What was proposed before, and is not applied by then, most likely went to the predecessor alone.
const appliedWithin = 2 * time.Second

// renew begins an epoch, and ends the last one after a while.
func (a *agreement) renew(after time.Duration) {
	ctx, end := context.WithCancel(context.Background())
	if last := a.epoch.Swap(&epoch{ctx, end}); last != nil {
		time.AfterFunc(after, last.end)
	}
}

// agreeWithin bounds how long a read or a proposal waits for a leader and a majority: a few elections.
// Etcd's own bound is for one read index, before which earlier ones may wait.
const agreeWithin = 5 * time.Second

var errNoMajority = fmt.Errorf("%w: the members do not agree", storage.ErrUnavailable)

// hopeless reports whether waiting was given up and there is still no leader. Once there is one, the next election
// is waited for again.
func (a *agreement) hopeless() bool {
	if !a.lost.Load() {
		return false
	}
	if a.server.Leader() != 0 {
		a.lost.Store(false)
		return false
	}
	return true
}

// giveUp notes that there has been no leader for long.
func (a *agreement) giveUp() error {
	a.lost.Store(a.server.Leader() == 0)
	return errNoMajority
}

// agree returns when this member has applied all that any member had acknowledged before the call (raft's read
// index: the leader returns its commit index after a majority has confirmed that it leads). Concurrent calls
// share one.
func (a *agreement) agree(ctx context.Context) error {
	if a.hopeless() {
		return errNoMajority
	}
	within, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	for {
		err := a.server.LinearizableReadNotify(within)
		switch {
		case errors.Is(err, etcderrors.ErrLeaderChanged):
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			return a.giveUp()
		default:
			return translate(err)
		}
	}
}

// proposeAgainEvery is how often a proposal that raft dropped for lack of a leader is made again.
const proposeAgainEvery = 50 * time.Millisecond

// proposed makes a proposal of a change, again while there is no leader: it was dropped then and has
// not happened. What was not answered is another matter, and not tried again: it may have happened, or
// still happen.
func proposed[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (T, error) {
	answer, err := proposedOnce(ctx, a, propose)
	if !errors.Is(err, raft.ErrProposalDropped) {
		return answer, translate(err)
	}
	if a.hopeless() {
		return answer, errNoMajority
	}
	within, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	again := time.NewTicker(proposeAgainEvery)
	defer again.Stop()
	for errors.Is(err, raft.ErrProposalDropped) {
		select {
		case <-again.C:
		case <-a.server.StoppingNotify():
			return answer, storage.ErrStopped
		case <-within.Done():
			if ctx.Err() != nil {
				return answer, ctx.Err()
			}
			return answer, a.giveUp()
		}
		answer, err = proposedOnce(ctx, a, propose)
	}
	return answer, translate(err)
}

// proposedOnce makes a proposal, and gives it up where the leader has changed and it is not applied: etcd
// would wait for it for seven seconds.
func proposedOnce[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (T, error) {
	epoch := a.epoch.Load()
	if epoch == nil {
		return propose(ctx)
	}
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(epoch.ctx, cancel)()
	answer, err := propose(bounded)
	if ctx.Err() == nil && (errors.Is(err, etcderrors.ErrCanceled) || errors.Is(err, context.Canceled)) {
		err = etcderrors.ErrTimeoutDueToLeaderFail
	}
	return answer, err
}

// current is the revision of what this member has.
func current(server *etcdserver.EtcdServer) int64 {
	// A concurrent transaction, as KV().Rev() begins, would copy what is not committed to the file yet.
	read := server.KV().Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer read.End()
	return read.Rev()
}
