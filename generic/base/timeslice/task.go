package timeslice

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// Quantum is how long a response executes before it yields to short ones. Half of it
	// costs long responses a fifth of their throughput. Twice as much adds 0.3 ms to the
	// 99th percentile of short ones on one processor.
	Quantum = 50 * time.Microsecond
	// slice is how long a task holds a slot. It is longer than a quantum because each
	// switch evicts what the processor's caches hold of a connection.
	slice = 2 * time.Millisecond
	// expiry is after how long a slot is taken from a task that does not yield, for
	// example because its client does not read.
	expiry = 2 * slice
	// minShare limits how far short work can slow down long responses: these get at least
	// one part in minShare of the time.
	minShare = 4
)

// Task schedules the work of one request. The zero Task is not scheduled: Yield and End
// do nothing. Only the request's goroutine may call its methods.
type Task struct {
	scheduler *Scheduler
	// slot is nil while the task does not hold one. The scheduler clears it on expiry.
	slot atomic.Pointer[slot]
	// start and length are the current quantum.
	start  time.Time
	length time.Duration
	// sliceEnd is when the task passes its slot to the next one.
	sliceEnd time.Time
}

// Join adds the task to a scheduler. With a nil scheduler the task is not scheduled.
func (t *Task) Join(s *Scheduler) { t.scheduler = s }

// Yield returns at once within a quantum. After a quantum it lets other goroutines run, and
// waits for a slot until ctx ends. Callers call it between pieces of work, each of which
// takes much less than a quantum.
func (t *Task) Yield(ctx context.Context) {
	if t.scheduler == nil {
		return
	}
	now := time.Now()
	if t.start.IsZero() {
		t.start, t.length = now, Quantum
		return
	}
	if now.Sub(t.start) < t.length {
		return
	}
	t.next(ctx)
}

// next starts another quantum.
func (t *Task) next(ctx context.Context) {
	t.length = Quantum
	if s := t.slot.Load(); s != nil {
		before := time.Now()
		s.runOthers()
		t.start = time.Now()
		t.length = max(Quantum, t.start.Sub(before)/minShare)
		if t.start.Before(t.sliceEnd) {
			return
		}
		t.End()
	}
	t.scheduler.acquire(ctx, t)
	t.start = time.Now()
	t.sliceEnd = t.start.Add(slice)
}

// End releases the slot, if the task holds one. It must be called when the request ends.
func (t *Task) End() {
	if s := t.slot.Load(); s != nil {
		t.scheduler.release(t, s)
	}
}
