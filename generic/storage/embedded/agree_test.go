package embedded

import (
	"context"
	"errors"
	"testing"

	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"

	"triplane/generic/storage"
)

// What was proposed to a leader that another one has followed is not waited for, but for whoever proposes it
// for themselves.
func TestProposalsToFormerLeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &agreement{}
	a.renew(0)
	unanswered := func(end func()) error {
		_, err := proposed(ctx, a, func(ctx context.Context) (struct{}, error) {
			end()
			<-ctx.Done()
			return struct{}{}, etcderrors.ErrCanceled
		})
		return err
	}
	if err := unanswered(func() { a.renew(0) }); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("after an election: %v", err)
	}
	if err := unanswered(cancel); errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("after the client went: %v", err)
	}
}
