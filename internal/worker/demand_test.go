package worker

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestDemandRunsOncePerBurst(t *testing.T) {
	var runs, active atomic.Int64
	hold := make(chan struct{})
	d := NewDemand(func() {
		if active.Add(1) > 1 {
			t.Error("two runs at the same time")
		}
		runs.Add(1)
		<-hold
		active.Add(-1)
	})
	for range 100 {
		d.Request()
	}
	close(hold)
	d.Wait()
	if n := runs.Load(); n < 1 || n > 2 {
		t.Errorf("%d runs for a burst of requests", n)
	}
	before := runs.Load()
	d.Request()
	d.Wait()
	if runs.Load() != before+1 {
		t.Error("a request after the burst did not run")
	}
}

func TestDemandHasNoGoroutineWhileIdle(t *testing.T) {
	before := runtime.NumGoroutine()
	all := make([]*Demand, 50)
	for i := range all {
		all[i] = NewDemand(func() {})
		all[i].Request()
		all[i].Wait()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestDemandRunsAgainAfterPanic(t *testing.T) {
	runs := make(chan int, 2)
	n := 0
	d := NewDemand(func() {
		n++
		runs <- n
		if n == 1 {
			panic("once")
		}
	})
	d.Request()
	for want := 1; want <= 2; want++ {
		select {
		case got := <-runs:
			if got != want {
				t.Fatalf("run %d, want %d", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no run after the panic")
		}
	}
}
