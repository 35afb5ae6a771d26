package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var runs atomic.Int64
		p := Every(0, time.Minute, func(context.Context) { runs.Add(1) })
		p.Start(ctx)
		time.Sleep(150 * time.Second)
		if n := runs.Load(); n != 3 {
			t.Errorf("%d calls in two and a half minutes", n)
		}
		cancel()
		p.Wait()
		time.Sleep(time.Hour)
		if n := runs.Load(); n != 3 {
			t.Errorf("%d calls after the end", n)
		}
	})
}
