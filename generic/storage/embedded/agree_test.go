package embedded

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/raft/v3"

	"triplane.dev/generic/storage"
)

// led is a raftServer with a leader of this ID.
type led struct{ atomic.Uint64 }

func (l *led) MemberID() types.ID                         { return 1 }
func (l *led) Leader() types.ID                           { return types.ID(l.Load()) }
func (*led) LinearizableReadNotify(context.Context) error { return nil }
func (*led) StoppingNotify() <-chan struct{}              { return nil }

func newLed(leader uint64) (*led, *agreement) {
	l := &led{}
	l.Store(leader)
	a := &agreement{server: l, reach: newReach()}
	a.renew()
	return l, a
}

// Proposals to a former leader end early. Proposals of this member as the leader do not.
func TestProposalsToFormerLeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, a := newLed(2)
	unavailableErrors := func(end func()) error {
		_, err := proposeWithRetry(ctx, a, func(ctx context.Context) (struct{}, error) {
			end()
			<-ctx.Done()
			return struct{}{}, etcderrors.ErrCanceled
		})
		return err
	}
	if err := unavailableErrors(func() { a.renew()() }); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrNotWritten) {
		t.Errorf("after an election: %v", err)
	}
	if err := unavailableErrors(cancel); errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("after the client went: %v", err)
	}
}

// Proposals that etcd gives up may have happened, whatever error it returns.
func TestProposalsThatTimeOut(t *testing.T) {
	_, a := newLed(2)
	for _, err := range []error{context.DeadlineExceeded, etcderrors.ErrTimeout, etcderrors.ErrTimeoutDueToConnectionLost} {
		_, got := proposeWithRetry(t.Context(), a, func(context.Context) (struct{}, error) { return struct{}{}, err })
		if !errors.Is(got, storage.ErrUnavailable) || errors.Is(got, storage.ErrNotWritten) {
			t.Errorf("%v is %v", err, got)
		}
	}
}

// Without a connected leader proposals wait for one.
func TestProposalsWithoutLeader(t *testing.T) {
	for name, leave := range map[string]func(*led, *agreement){
		"none leads":           func(l *led, _ *agreement) { l.Store(0) },
		"the leader is away":   func(_ *led, a *agreement) { a.reach.inactive[2] = true },
		"it has just left":     func(*led, *agreement) {},
		"another one has left": func(_ *led, a *agreement) { a.reach.inactive[3] = true },
	} {
		t.Run(name, func(t *testing.T) {
			l, a := newLed(2)
			leave(l, a)
			asked := 0
			propose := func(context.Context) (int, error) {
				if asked++; asked == 1 && name == "it has just left" {
					return 0, raft.ErrProposalDropped
				}
				return 42, nil
			}
			timer := time.AfterFunc(5*proposeInterval, func() { l.Store(1) })
			defer timer.Stop()
			if got, err := proposeWithRetry(t.Context(), a, propose); got != 42 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
			asked = 0
			l.Store(0)
			a.markLeaderless()
			if _, err := proposeWithRetry(t.Context(), a, propose); !errors.Is(err, storage.ErrNotWritten) || asked > 0 {
				t.Errorf("it was proposed %d times after it was given up: %v", asked, err)
			}
		})
	}
}
