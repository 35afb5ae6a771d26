package etcd_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
)

// A cache with a client is as consistent as one with the embedded server, also if keys outside its watch
// advance the revision.
func TestCacheReadsConsistently(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, b storage.Backend) {
		mux := cache.NewMultiplexer(b, "/registry")
		c := mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: "/registry/pods/", Namespaced: true}})
		running, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); _ = mux.Run(running) }()
		defer func() { stop(); <-done }()

		var slowest time.Duration
		for i := range 30 {
			key := fmt.Sprintf("/registry/pods/ns/%02d", i)
			if _, err := b.Create(ctx, key, []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
			elsewhere, err := b.Create(ctx, fmt.Sprintf("/elsewhere/%d", i), []byte("x"), 0)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			l, err := c.List(ctx, storage.ListOptions{})
			if err != nil || len(l.Records) != i+1 || l.Revision < elsewhere {
				t.Fatalf("listed %d records at %d, %v; want %d at %d", len(l.Records), l.Revision, err, i+1, elsewhere)
			}
			slowest = max(slowest, time.Since(began))
		}
		if slowest > time.Second {
			t.Errorf("a list took %v", slowest)
		}
		t.Logf("the slowest list took %v", slowest)
	})
}
