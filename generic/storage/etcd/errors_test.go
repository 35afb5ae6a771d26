package etcd

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triplane.dev/generic/storage"
)

// A value that exceeds the transport's limit is ErrTooLarge, with the message that clients of kube-apiserver
// expect.
func TestTooLargeForTheTransport(t *testing.T) {
	sent := status.Error(codes.ResourceExhausted, "trying to send message larger than max (2420105 vs. 2097152)")
	err := translate(t.Context(), sent)
	if !errors.Is(err, storage.ErrTooLarge) || err.Error() != sent.Error() {
		t.Error(err)
	}
	if err := translate(t.Context(), status.Error(codes.ResourceExhausted, "too many requests")); errors.Is(err, storage.ErrTooLarge) {
		t.Error(err)
	}
}
