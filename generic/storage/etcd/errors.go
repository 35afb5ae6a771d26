package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triplane/generic/storage"
)

// ErrLeaseLost says that a lease is not there any more under which a key was to be put.
var ErrLeaseLost = errors.New("storage: the lease of the object is gone")

// translate gives an error of etcd its name in package storage. The end of the
// caller's context is returned as such, however etcd's client put it.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max") {
		return tooLarge{err}
	}
	err = rpctypes.Error(err)
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return storage.ErrCompacted
	case errors.Is(err, rpctypes.ErrFutureRev):
		return storage.ErrFutureRevision
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return storage.ErrTooLarge
	case errors.Is(err, rpctypes.ErrNoSpace):
		return storage.ErrNoSpace
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return ErrLeaseLost
	}
	switch codeOf(err) {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Unavailable:
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}

// tooLarge is storage.ErrTooLarge in the words of the transport, whose limit is below that of etcd.
type tooLarge struct{ error }

// Is implements what errors.Is asks for.
func (tooLarge) Is(target error) bool { return target == storage.ErrTooLarge }

// codeOf returns the gRPC code of an error of etcd or of its client.
func codeOf(err error) codes.Code {
	var etcdErr rpctypes.EtcdError
	if errors.As(err, &etcdErr) {
		return etcdErr.Code()
	}
	return status.Code(err)
}
