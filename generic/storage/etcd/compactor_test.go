package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/etcd"
)

// Two replicas compact once per interval, and keep revisions that are younger than one.
func TestCompactor(t *testing.T) {
	b := inProcess(t).(*embedded.Backend)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first, err := b.Create(ctx, "/r/0", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	const interval = 50 * time.Millisecond
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { b.RunCompactor(ctx, interval) })
	}
	defer wg.Wait()
	defer cancel()
	for i := 1; ; i++ {
		if _, err := b.Create(ctx, fmt.Sprintf("/r/%d", i), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		_, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: first})
		if errors.Is(err, storage.ErrCompacted) {
			break
		}
		if i > 500 {
			t.Fatal("nothing is compacted")
		}
		time.Sleep(5 * time.Millisecond)
	}
	kv, err := b.Get(ctx, etcd.CompactKey)
	if err != nil {
		t.Fatal(err)
	}
	if rev, err := strconv.ParseInt(string(kv.Value), 10, 64); err != nil || rev < 0 || rev >= kv.Revision {
		t.Errorf("agreed on %q at %d", kv.Value, kv.Revision)
	}
	now, _ := b.Revision(ctx)
	if _, err := b.Range(ctx, storage.RangeOptions{Prefix: "/r/", Revision: now}); err != nil {
		t.Errorf("the present is compacted: %v", err)
	}
}
