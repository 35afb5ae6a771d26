package timeslice

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// work yields until the task has started another quantum.
func work(ctx context.Context, t *Task) {
	t.Yield(ctx)
	began := t.start
	for t.start.Equal(began) {
		t.Yield(ctx)
	}
}

func TestShortResponsesDoNotWait(t *testing.T) {
	all := New(1)
	var long, short Task
	long.Join(all)
	work(t.Context(), &long)
	if long.slot.Load() == nil {
		t.Fatal("a long response executes without a slot")
	}
	short.Join(all)
	short.Yield(t.Context())
	if short.slot.Load() != nil || len(all.waiting) != 0 {
		t.Error("the first quantum acquired a slot")
	}
	long.End()
	long.End() // releases the slot only once
	if len(all.free) != 1 {
		t.Errorf("%d slots are free", len(all.free))
	}
}

func TestZeroTask(t *testing.T) {
	var alone Task
	alone.Yield(t.Context())
	alone.End()
}

// waitFor polls until condition, which is called with all.mu held, returns true.
func waitFor(t *testing.T, all *Scheduler, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		all.mu.Lock()
		ok := condition()
		all.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true")
		}
	}
}

// A client that does not read loses its slot.
func TestSlotExpires(t *testing.T) {
	all := New(1)
	var stuck, other Task
	stuck.Join(all)
	other.Join(all)
	work(t.Context(), &stuck)
	work(t.Context(), &other) // returns although the first task has not ended
	if stuck.slot.Load() != nil {
		t.Error("both tasks hold the only slot")
	}
	other.End()
	waitFor(t, all, func() bool { return len(all.free) == 1 })
}

func TestAcquireEndsWithTheContext(t *testing.T) {
	all := New(0)
	all.free = nil // no slot is ever released
	ctx, cancel := context.WithCancel(t.Context())
	var task Task
	task.Join(all)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx, &task)
	}()
	waitFor(t, all, func() bool { return len(all.waiting) == 1 })
	cancel()
	<-done
	if len(all.waiting) != 0 {
		t.Error("the task is still in the queue")
	}
}

func TestAllTasksFinish(t *testing.T) {
	const slots, requests = 3, 16
	all := New(slots)
	done := make(chan bool)
	for range requests {
		go func() {
			var task Task
			task.Join(all)
			for range 20 {
				work(t.Context(), &task)
			}
			task.End()
			done <- true
		}()
	}
	for range requests {
		<-done
	}
	waitFor(t, all, func() bool { return len(all.free) == slots && len(all.waiting) == 0 })
}

// Goroutines whose data arrived from the network run first, although another goroutine
// is always ready. runtime.Gosched alone would not poll the network.
func TestRunOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var arrived atomic.Int32
	go func() {
		var b [1]byte
		for {
			if _, err := r.Read(b[:]); err != nil {
				return
			}
			arrived.Add(1)
		}
	}()
	p := &slot{}
	p.runOthers() // the reader now waits for the network
	if _, err := w.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	// One call is enough, except with the race detector, which shuffles ready goroutines.
	for calls := 0; arrived.Load() == 0; calls++ {
		if calls == 20 {
			t.Fatal("the reader did not run")
		}
		p.runOthers()
	}
}
