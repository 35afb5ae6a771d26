package cache

import (
	"context"
	"errors"
	"testing"

	"triplane.dev/generic/storage"
)

// sealed is a View that fails to decrypt all values.
type sealed struct{ storage.Backend }

func (s sealed) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	r, err := s.Backend.Range(ctx, opts)
	for i := range r.Items {
		r.Items[i].Value, r.Items[i].Err = nil, &storage.TransformError{Key: r.Items[i].Key, Err: errors.New("no key")}
	}
	return r, err
}

func (sealed) Decode(*storage.Change) error { return nil }

func TestExactListOfFutureRevision(t *testing.T) {
	w := newWorld(t)
	w.create("ns/a", thing{})
	cfg := podConfig
	cfg.View = sealed{w.backend}
	w.mux.Drop(pods)
	w.cache = w.mux.Cache(cfg)
	for _, key := range []string{"", pods + "ns/a"} {
		_, err := w.cache.List(t.Context(), storage.ListOptions{Key: key, Freshness: storage.Freshness{Match: storage.Exact, Revision: 1000}})
		if !errors.As(err, new(*storage.TooLargeError)) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
