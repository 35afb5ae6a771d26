package triplane

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"triplane.dev/generic/storage"
)

// Checkpoint is a copy of the storage.
type Checkpoint struct{ values map[string][]byte }

// Checkpoint returns a copy of the storage. It excludes resources in other clusters (--etcd-servers-overrides).
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

// Restore resets the storage to a checkpoint of this server, for tests that share a server. It bypasses admission,
// finalizers and controllers. Watches receive the changes. It returns when the server's caches are up to date.
// Objects that are written concurrently may remain.
func (s *Server) Restore(ctx context.Context, c *Checkpoint) error {
	stored, err := s.stored(ctx)
	if err != nil {
		return err
	}
	missing := make(map[string]bool, len(c.values))
	for key := range c.values {
		missing[key] = true
	}
	// In reverse order custom resources are deleted before their definitions, so that watches see the deletions.
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

// stored returns the storage in the order of keys.
func (s *Server) stored(ctx context.Context) ([]storage.KeyValue, error) {
	all, err := s.store.Backend().Range(ctx, storage.RangeOptions{Prefix: s.options.Etcd.AbsolutePrefix() + "/"})
	return all.Items, err
}

// restore sets a key from found to wanted; nil means that the key does not exist.
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
