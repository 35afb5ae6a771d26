package observed

import (
	"context"
	"errors"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/storage"
)

// Backend measures the requests of one resource to another backend.
type Backend struct {
	storage.Backend
	*operations
}

// New returns a view of a backend for a resource.
func New(below storage.Backend, m *Metrics, group, resource string) *Backend {
	return &Backend{below, m.of(group, resource)}
}

// Get implements storage.Backend.
func (b *Backend) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	begun := time.Now()
	kv, err := b.Backend.Get(ctx, key)
	spent(ctx, begun)
	b.get.done(begun, failed(err))
	b.traced(ctx, begun, err, "get")
	return kv, err
}

// Range implements storage.Backend.
func (b *Backend) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	begun, op, sweep := time.Now(), b.list, sweeps(ctx)
	switch {
	case sweep:
		op = b.swept
	case opts.CountOnly:
		op = b.count
	}
	result, err := b.Backend.Range(ctx, opts)
	spent(ctx, begun)
	op.done(begun, failed(err))
	if err == nil && !opts.CountOnly && !sweep {
		b.listed(time.Since(begun), len(result.Items))
	}
	b.traced(ctx, begun, err, "list")
	return result, err
}

// Create implements storage.Backend.
func (b *Backend) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	begun := time.Now()
	revision, err := b.Backend.Create(ctx, key, value, ttl)
	b.create.done(begun, failed(err))
	b.noted(ctx, begun, err, "create", "Object stored in database")
	return revision, err
}

// Update implements storage.Backend.
func (b *Backend) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	begun := time.Now()
	revision, err := b.Backend.Update(ctx, key, value, expected, ttl)
	b.update.done(begun, failed(err))
	b.noted(ctx, begun, err, "update", "Object stored in database")
	return revision, err
}

// Delete implements storage.Backend.
func (b *Backend) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	begun := time.Now()
	revision, err := b.Backend.Delete(ctx, key, expected)
	b.remove.done(begun, failed(err))
	b.noted(ctx, begun, err, "delete", "Object deleted from database")
	return revision, err
}

// worthNoting is the minimum duration of a step in the log of slow requests.
const worthNoting = 10 * time.Millisecond

// noted adds a write to the trace of a request and, if it was slow, to the log of slow requests.
func (b *Backend) noted(ctx context.Context, begun time.Time, err error, operation, what string) {
	spent(ctx, begun)
	b.traced(ctx, begun, err, operation)
	if time.Since(begun) >= worthNoting {
		request.Noted(ctx, what)
	}
}

// traced adds an operation to the trace of a request.
func (b *Backend) traced(ctx context.Context, begun time.Time, err error, operation string) {
	if !failed(err) {
		err = nil
	}
	tracing.Did(ctx, "etcd "+operation, begun, err, b.attributes...)
}

// spent adds the duration of an operation to that of the request.
func spent(ctx context.Context, begun time.Time) {
	request.Spent(ctx, request.StorageAccess, time.Since(begun))
}

// failed reports whether the backend failed. That a key exists, does not exist, or is at another revision is
// not a failure.
func failed(err error) bool {
	if err == nil || errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrExists) ||
		errors.Is(err, context.Canceled) {
		return false
	}
	var conflict *storage.ConflictError
	return !errors.As(err, &conflict)
}
