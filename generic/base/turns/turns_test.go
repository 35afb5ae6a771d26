package turns

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// work yields until the turn has begun another quantum.
func work(ctx context.Context, t *Turn) {
	t.Yield(ctx)
	began := t.since
	for t.since.Equal(began) {
		t.Yield(ctx)
	}
}

func TestShortAnswersWaitForNobody(t *testing.T) {
	all := New(1)
	var long, short Turn
	long.Join(all)
	work(t.Context(), &long)
	if long.place.Load() == nil {
		t.Fatal("a long answer goes on without a turn")
	}
	short.Join(all)
	short.Yield(t.Context())
	if short.place.Load() != nil || len(all.waiting) != 0 {
		t.Error("the first quantum took a turn")
	}
	long.End()
	long.End() // gives nothing back twice
	if len(all.free) != 1 {
		t.Errorf("%d places are free", len(all.free))
	}
}

func TestTheZeroTurnDoesNothing(t *testing.T) {
	var alone Turn
	alone.Yield(t.Context())
	alone.End()
}

// waitFor returns when the condition holds for what the mutex guards.
func waitFor(t *testing.T, all *Turns, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		all.mu.Lock()
		ok := condition()
		all.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
}

// A client that does not read keeps nobody from going on.
func TestATurnLapses(t *testing.T) {
	all := New(1)
	var stuck, other Turn
	stuck.Join(all)
	other.Join(all)
	work(t.Context(), &stuck)
	work(t.Context(), &other) // returns without an End of the first
	if stuck.place.Load() != nil {
		t.Error("both have the only turn")
	}
	other.End()
	waitFor(t, all, func() bool { return len(all.free) == 1 })
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	all := New(0)
	all.free = nil // nobody ever gives one back
	ctx, cancel := context.WithCancel(t.Context())
	var turn Turn
	turn.Join(all)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx, &turn)
	}()
	waitFor(t, all, func() bool { return len(all.waiting) == 1 })
	cancel()
	<-done
	if len(all.waiting) != 0 {
		t.Error("the request waits on")
	}
}

func TestAllComeToTheirEnd(t *testing.T) {
	const places, requests = 3, 16
	all := New(places)
	done := make(chan bool)
	for range requests {
		go func() {
			var turn Turn
			turn.Join(all)
			for range 20 {
				work(t.Context(), &turn)
			}
			turn.End()
			done <- true
		}()
	}
	for range requests {
		<-done
	}
	waitFor(t, all, func() bool { return len(all.free) == places && len(all.waiting) == 0 })
}

// What arrived from the network goes first, although there is always somebody who
// is ready: runtime.Gosched would not look at the network.
func TestOthersGoFirst(t *testing.T) {
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
	p := &place{}
	p.afterOthers() // the reader waits for the network now
	if _, err := w.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	// Once is enough but for the race detector, which shuffles who is ready.
	for calls := 0; arrived.Load() == 0; calls++ {
		if calls == 20 {
			t.Fatal("the reader has not had its turn")
		}
		p.afterOthers()
	}
}
