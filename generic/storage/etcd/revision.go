package etcd

import (
	"context"
	"errors"
	"fmt"

	"triplane.dev/generic/storage"
)

// Revision implements storage.Backend with one linearizable read. Calls that arrive during a read share the
// next one, so that the read always starts after the call.
func (b *Backend) Revision(ctx context.Context) (int64, error) {
	revision, err := b.revisions.do(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: no answer within %v", storage.ErrUnavailable, revisionTimeout)
	}
	return revision, err
}

// AlwaysCurrent implements storage.Backend. etcd reports progress on request.
func (b *Backend) AlwaysCurrent() bool { return false }

// RequestProgress implements storage.Backend.
func (b *Backend) RequestProgress(ctx context.Context) error {
	return translate(ctx, b.client.RequestProgress(watchContext(ctx)))
}
