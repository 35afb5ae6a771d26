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

	"triplane/generic/storage"
)

// agreement is the member's part in the cluster's consensus. A member that is alone is its own majority. It is
// safe for concurrent use.
type agreement struct {
	server raftServer
	// reach is which members are connected; nil where the member is alone.
	reach *reach
	// lost is set while there has been no leader for so long that a read or a proposal was given up: further
	// ones fail at once.
	lost atomic.Bool
	// epoch is that of the present leader; nil where the member is alone.
	epoch atomic.Pointer[epoch]
}

// raftServer is what an agreement needs of etcd's server.
type raftServer interface {
	MemberID() types.ID
	Leader() types.ID
	LinearizableReadNotify(ctx context.Context) error
	StoppingNotify() <-chan struct{}
}

// epoch ends a while after another member has begun to lead.
type epoch struct {
	ctx context.Context
	end context.CancelFunc
}

const (
	// appliedWithin is how long after the election of a leader everything is applied that survives its
	// predecessor, where the members do not agree sooner. What was proposed before, and is not applied by then,
	// most likely went to the predecessor alone.
	appliedWithin = 2 * time.Second
	// notifiedWithin is how long after that its proposers are notified.
	notifiedWithin = 200 * time.Millisecond
)

// renew begins an epoch, and returns how to end the last one.
func (a *agreement) renew() (end context.CancelFunc) {
	ctx, end := context.WithCancel(context.Background())
	if last := a.epoch.Swap(&epoch{ctx, end}); last != nil {
		return last.end
	}
	return func() {}
}

// settle ends the last epoch when the members agree with the new leader: what its predecessor has had committed is
// applied here then.
func (a *agreement) settle(ctx context.Context, end context.CancelFunc) {
	within, cancel := context.WithTimeout(ctx, appliedWithin)
	defer cancel()
	if a.agree(within) != nil {
		<-within.Done()
	}
	time.AfterFunc(notifiedWithin, end)
}

// agreeWithin bounds how long a read or a proposal waits for a leader and a majority: a few elections.
// Etcd's own bound is for one read index, before which earlier ones may wait.
const agreeWithin = 5 * time.Second

var (
	errNoMajority  = fmt.Errorf("%w: the members do not agree", storage.ErrUnavailable)
	errNotProposed = fmt.Errorf("%w: the members have no leader", storage.ErrNotWritten)
)

// leader returns the member that leads, none where it cannot be reached.
func (a *agreement) leader() types.ID {
	leader := a.server.Leader()
	if a.reach != nil && leader != 0 && leader != a.server.MemberID() && a.reach.away(leader) {
		return 0
	}
	return leader
}

// hopeless reports whether waiting was given up and there is still no leader. Once there is one, the next election
// is waited for again.
func (a *agreement) hopeless() bool {
	if !a.lost.Load() {
		return false
	}
	if a.leader() != 0 {
		a.lost.Store(false)
		return false
	}
	return true
}

// giveUp notes that there has been no leader for long.
func (a *agreement) giveUp() { a.lost.Store(a.leader() == 0) }

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
			a.giveUp()
			return errNoMajority
		default:
			return translate(err)
		}
	}
}

// proposeAgainEvery is how often it is looked whether there is a leader to propose to.
const proposeAgainEvery = 10 * time.Millisecond

// proposed makes a proposal of a change when there is a leader. Without one it waits, since raft drops a proposal then,
// or gives it to a leader that is gone: storage.ErrNotWritten says that it has waited for too long. What was not
// answered is another matter, and not tried again: it may have happened, or still happen.
func proposed[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (answer T, err error) {
	var within context.Context
	for {
		if a.epoch.Load() == nil || a.leader() != 0 {
			answer, err = proposedOnce(ctx, a, propose)
			if !errors.Is(err, raft.ErrProposalDropped) {
				return answer, translate(err)
			}
		}
		if a.hopeless() {
			return answer, errNotProposed
		}
		if within == nil {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, agreeWithin)
			defer cancel()
		}
		select {
		case <-time.After(proposeAgainEvery):
		case <-a.server.StoppingNotify():
			return answer, storage.ErrStopped
		case <-within.Done():
			if ctx.Err() != nil {
				return answer, ctx.Err()
			}
			a.giveUp()
			return answer, errNotProposed
		}
	}
}

// proposedOnce makes a proposal, and gives it up where the leader has changed and it is not applied: etcd
// would wait for it for seven seconds.
func proposedOnce[T any](ctx context.Context, a *agreement, propose func(context.Context) (T, error)) (T, error) {
	bounded := ctx
	if epoch := a.epoch.Load(); epoch != nil {
		var cancel context.CancelFunc
		bounded, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(epoch.ctx, cancel)()
	}
	answer, err := propose(bounded)
	if ctx.Err() == nil && givenUp(err) {
		err = etcderrors.ErrTimeoutDueToLeaderFail // by etcd itself, or with the epoch
	}
	return answer, err
}

// givenUp reports whether an error is the end of a context, as etcd returns it.
func givenUp(err error) bool {
	return errors.Is(err, etcderrors.ErrCanceled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// current is the revision of what this member has.
func current(server *etcdserver.EtcdServer) int64 {
	// A concurrent transaction, as KV().Rev() begins, would copy what is not committed to the file yet.
	read := server.KV().Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer read.End()
	return read.Rev()
}
