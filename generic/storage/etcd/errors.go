package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triplane.dev/generic/storage"
)

// ErrLeaseLost means that the lease for a put does not exist any more.
var ErrLeaseLost = errors.New("storage: the lease of the object does not exist")

// translate converts errors of etcd to those of package storage. If the caller's context has ended, it returns
// the context's error.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted &&
		strings.Contains(s.Message(), "larger than max") {
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

// tooLarge is storage.ErrTooLarge with the message of gRPC, whose limit is lower than etcd's.
type tooLarge struct{ error }

// Is implements the interface of errors.Is.
func (tooLarge) Is(target error) bool { return target == storage.ErrTooLarge }

// codeOf returns the gRPC code of an error of etcd or of its client.
func codeOf(err error) codes.Code {
	var etcdErr rpctypes.EtcdError
	if errors.As(err, &etcdErr) {
		return etcdErr.Code()
	}
	return status.Code(err)
}
