package etcd

import (
	"context"
	"errors"
)

// DatabaseSize implements storage.Backend with the size at the first member that responds.
func (b *Backend) DatabaseSize(ctx context.Context) (int64, error) {
	err := errors.New("etcd has no endpoints")
	for _, endpoint := range b.client.Endpoints() {
		status, statusErr := b.client.Status(ctx, endpoint)
		if statusErr == nil {
			return status.DbSize, nil
		}
		err = translate(ctx, statusErr)
	}
	return 0, err
}
