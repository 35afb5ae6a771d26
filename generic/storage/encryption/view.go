package encryption

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
)

// View is a storage.Backend for one resource that decrypts values on reads and encrypts them on writes. A
// failure is a *storage.TransformError.
type View struct {
	storage.Backend
	providers *Providers
	resource  schema.GroupResource
	name      string // of resource
	bound     atomic.Pointer[bound]
}

// bound caches the resource's chain with the rules that it belongs to.
type bound struct {
	rules *rules
	chain chain
}

func (v *View) chain() chain {
	r := v.providers.current.Load()
	if b := v.bound.Load(); b != nil && b.rules == r {
		return b.chain
	}
	b := &bound{rules: r, chain: r.chainOf(v.resource)}
	v.bound.Store(b)
	return b.chain
}

// open decrypts a stored value. Without a configuration it records no metrics.
func (v *View) open(ctx context.Context, key string, stored []byte) (value []byte, stale bool, err error) {
	c := v.chain()
	if len(c) == 1 && c[0] == plain[0] {
		value, _, err = identity{}.open(ctx, stored, key)
	} else {
		began := time.Now()
		value, stale, err = c.open(ctx, stored, key)
		v.providers.metrics.transformed(v.name, fromStorage, c.prefixOf(stored), began, err)
	}
	if err != nil {
		return nil, false, &storage.TransformError{Key: key, Err: err}
	}
	return value, stale, nil
}

func (v *View) seal(ctx context.Context, key string, value []byte) ([]byte, error) {
	c := v.chain()
	if c[0] == plain[0] {
		return value, nil
	}
	began := time.Now()
	stored, err := c.seal(ctx, value, key)
	v.providers.metrics.transformed(v.name, toStorage, c[0].prefix(), began, err)
	if err != nil {
		return nil, &storage.TransformError{Key: key, Err: err}
	}
	return stored, nil
}

func (v *View) openKV(ctx context.Context, kv *storage.KeyValue) (err error) {
	kv.Value, kv.Stale, err = v.open(ctx, kv.Key, kv.Value)
	var transform *storage.TransformError
	if errors.As(err, &transform) {
		transform.Revision = kv.Revision
	}
	return err
}

// Get implements storage.Backend.
func (v *View) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	kv, err := v.Backend.Get(ctx, key)
	if err != nil {
		return kv, err
	}
	if err := v.openKV(ctx, &kv); err != nil {
		return storage.KeyValue{}, err
	}
	return kv, nil
}

// Range implements storage.Backend.
func (v *View) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	r, err := v.Backend.Range(ctx, opts)
	if err != nil {
		return r, err
	}
	for i := range r.Items {
		item := &r.Items[i]
		item.Err = v.openKV(ctx, item)
	}
	return r, nil
}

// Create implements storage.Backend.
func (v *View) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	stored, err := v.seal(ctx, key, value)
	if err != nil {
		return 0, err
	}
	return v.Backend.Create(ctx, key, stored, ttl)
}

// Update implements storage.Backend.
func (v *View) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64, error) {
	stored, err := v.seal(ctx, key, value)
	if err != nil {
		return 0, err
	}
	revision, err := v.Backend.Update(ctx, key, stored, expected, ttl)
	return revision, v.conflict(ctx, err)
}

// Delete implements storage.Backend.
func (v *View) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	revision, err := v.Backend.Delete(ctx, key, expected)
	return revision, v.conflict(ctx, err)
}

// conflict decrypts the current value of a conflict.
func (v *View) conflict(ctx context.Context, err error) error {
	var conflict *storage.ConflictError
	if err == nil || !errors.As(err, &conflict) || conflict.Current == nil {
		return err
	}
	if openErr := v.openKV(ctx, conflict.Current); openErr != nil {
		return openErr
	}
	return err
}

// Decode implements cache.View. It may wait for a plugin, up to the plugin's timeout.
func (v *View) Decode(c *storage.Change) error {
	ctx := context.Background()
	if c.Previous != nil {
		previous, _, err := v.open(ctx, c.Key, c.Previous)
		if err != nil {
			c.Previous, c.PrevRev = nil, 0
		} else {
			c.Previous = previous
		}
	}
	if c.Deleted() {
		return nil
	}
	value, _, err := v.open(ctx, c.Key, c.Value)
	if value == nil && err == nil {
		value = []byte{} // nil means a deletion
	}
	c.Value = value
	return err
}

// Watch implements storage.Backend.
func (v *View) Watch(ctx context.Context, prefix string, from int64,
	needPrevious func(string) bool) (storage.ChangeStream, error) {
	s, err := v.Backend.Watch(ctx, prefix, from, needPrevious)
	if err != nil {
		return nil, err
	}
	return &stream{ChangeStream: s, view: v}, nil
}

// stream decrypts the changes of a watch.
type stream struct {
	storage.ChangeStream
	view *View
}

// Next implements storage.ChangeStream.
func (s *stream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	changes, progress, err := s.ChangeStream.Next(ctx)
	for i := 0; i < len(changes) && err == nil; i++ {
		err = s.view.Decode(&changes[i])
	}
	return changes, progress, err
}
