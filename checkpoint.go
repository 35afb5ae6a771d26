package triplane

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"triplane/generic/storage"
)

// Checkpoint is what was stored at some time.
type Checkpoint struct{ values map[string][]byte }

// Checkpoint returns what is stored now. Resources that are kept by
// --etcd-servers-overrides are not part of it.
func (s *Server) Checkpoint(ctx context.Context) (*Checkpoint, error) {
	stored, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{values: make(map[string][]byte, len(stored))}
	for _, kv := range stored {
		c.values[kv.Key] = kv.Value
	}
	return c, nil
}

// Restore makes what is stored that of a checkpoint of this server, for tests that share a
// server. It is no request: nothing is admitted, and neither finalizers nor controllers are
// waited for. Watches see the changes as those of clients. It returns when the server's
// caches have them; what was written meanwhile may remain.
func (s *Server) Restore(ctx context.Context, c *Checkpoint) error {
	stored, err := s.stored(ctx)
	if err != nil {
		return err
	}
	missing := make(map[string]bool, len(c.values))
	for key := range c.values {
		missing[key] = true
	}
	// Backwards: custom resources go before their definitions, so that watches see it.
	for _, kv := range slices.Backward(stored) {
		delete(missing, kv.Key)
		if err := s.restore(ctx, kv.Key, &kv, c.values[kv.Key]); err != nil {
			return err
		}
	}
	for key := range missing {
		if err := s.restore(ctx, key, nil, c.values[key]); err != nil {
			return err
		}
	}
	revision, err := s.store.Backend().Revision(ctx)
	if err != nil {
		return err
	}
	return s.store.Multiplexers()[0].Await(ctx, revision)
}

// stored is all that is, in the order of keys.
func (s *Server) stored(ctx context.Context) ([]storage.KeyValue, error) {
	all, err := s.store.Backend().Range(ctx, storage.RangeOptions{Prefix: s.options.Etcd.AbsolutePrefix() + "/"})
	return all.Items, err
}

// restore gives a key that is as found, nil being nothing, the value wanted; nil is none.
func (s *Server) restore(ctx context.Context, key string, found *storage.KeyValue, wanted []byte) (err error) {
	for {
		switch {
		case found == nil && wanted == nil, found != nil && wanted != nil && bytes.Equal(found.Value, wanted):
			return nil
		case found == nil:
			_, err = s.store.Backend().Create(ctx, key, wanted, 0)
		case wanted == nil:
			_, err = s.store.Backend().Delete(ctx, key, found.Revision)
		default:
			_, err = s.store.Backend().Update(ctx, key, wanted, found.Revision, 0)
		}
		var conflict *storage.ConflictError
		switch {
		case errors.As(err, &conflict):
			found = conflict.Current
		case errors.Is(err, storage.ErrExists):
			now, err := s.store.Backend().Get(ctx, key)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			if found = nil; err == nil {
				found = &now
			}
		default:
			return err
		}
	}
}
