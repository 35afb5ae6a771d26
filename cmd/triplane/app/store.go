package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"triplane/generic/options"
	"triplane/generic/storage"
	"triplane/generic/storage/cache"
	"triplane/generic/storage/embedded"
	"triplane/generic/storage/etcd"
)

// store is the open storage of a server.
type store struct {
	backend interface {
		storage.Backend
		RunCompactor(ctx context.Context, interval time.Duration)
	}
	hub *cache.Hub
	// failed is closed when the storage stopped by itself; nil where it cannot.
	failed <-chan struct{}
	close  func() error
}

// following reports whether the caches follow what is stored: nothing is read
// before.
func (s *store) following() error {
	select {
	case <-s.hub.Started():
		return nil
	default:
		return errors.New("the caches do not follow storage yet")
	}
}

// openStore starts the embedded etcd below the data directory, or connects to a
// cluster.
func openStore(ctx context.Context, o *options.Etcd, dataDir string) (*store, error) {
	s := &store{}
	if o.Embedded() {
		server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dataDir, "etcd"), Leases: o.Leases()})
		if err != nil {
			return nil, err
		}
		s.backend, s.failed, s.close = server.Backend(), server.Done(), server.Close
	} else {
		backend, err := etcd.Dial(ctx, o.ClientConfig())
		if err != nil {
			return nil, err
		}
		s.backend, s.close = backend, backend.Close
	}
	s.hub = cache.NewHub(s.backend, o.AbsolutePrefix())
	return s, nil
}
