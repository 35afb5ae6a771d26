package etcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The result of a call is never older than the call of do.
func TestSharedCallsAreFresh(t *testing.T) {
	var now, asked atomic.Int64
	c := &sharedCall{timeout: time.Second, call: func(context.Context) (int64, error) {
		asked.Add(1)
		value := now.Load()
		time.Sleep(100 * time.Microsecond)
		return value, nil
	}}
	var wg sync.WaitGroup
	const callers, calls = 20, 50
	for range callers {
		wg.Go(func() {
			for range calls {
				before := now.Add(1)
				if got, err := c.do(context.Background()); err != nil || got < before {
					t.Errorf("received %d, %v; %d was before", got, err, before)
				}
			}
		})
	}
	wg.Wait()
	if n := asked.Load(); n > callers*calls/2 {
		t.Errorf("%d calls for %d callers", n, callers*calls)
	}
}

func TestSharedCallHonoursTheContext(t *testing.T) {
	release := make(chan struct{})
	c := &sharedCall{timeout: time.Second, call: func(context.Context) (int64, error) { <-release; return 1, nil }}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.do(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if _, err := c.do(context.Background()); err != nil {
		t.Error(err)
	}
}
