package request

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TimedOut returns the error for a request whose deadline has passed.
func TimedOut() *apierrors.StatusError {
	return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
}

// WithTimeout bounds the request that ctx belongs to, if it may continue after its handler: its own deadline needs no
// further context while it waits. Otherwise it returns a context with the timeout. The caller must call cancel.
func WithTimeout(ctx context.Context, timeout time.Duration) (_ context.Context, cancel context.CancelFunc) {
	if s := StateFrom(ctx); s != nil && s.Continuation != nil {
		s.Shorten(time.Now().Add(timeout))
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}
