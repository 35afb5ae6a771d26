package timeslice

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"triplane.dev/internal/worker"
)

// Scheduler assigns a fixed number of slots to tasks. It is safe for concurrent use.
type Scheduler struct {
	mu      sync.Mutex
	free    []*slot
	waiting []*waiter
}

// slot is the permission to execute. There is one for each processor.
type slot struct {
	expiry *time.Timer
	once   sync.Once
	r, w   *os.File // the pipe of runOthers
}

// waiter is a task in the queue.
type waiter struct {
	task  *Task
	ready chan struct{}
}

// New returns a Scheduler with n slots, and with one if n is less than 1.
func New(n int) *Scheduler {
	s := &Scheduler{}
	for range max(1, n) {
		s.free = append(s.free, &slot{})
	}
	return s
}

// acquire returns when the task holds a slot, or when ctx ends.
func (s *Scheduler) acquire(ctx context.Context, t *Task) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		s.assign(p, t)
		s.mu.Unlock()
		return
	}
	w := &waiter{t, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		s.mu.Lock()
		s.waiting = slices.DeleteFunc(s.waiting, func(o *waiter) bool { return o == w })
		s.mu.Unlock()
	}
}

// assign gives a slot to a task. The caller holds s.mu.
func (s *Scheduler) assign(p *slot, t *Task) {
	t.slot.Store(p)
	p.expiry = time.AfterFunc(expiry, func() { s.release(t, p) })
}

// release passes the slot of a task to the next one in the queue. It does nothing if the
// task has lost the slot already.
func (s *Scheduler) release(t *Task, p *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.slot.CompareAndSwap(p, nil) {
		return
	}
	p.expiry.Stop()
	if len(s.waiting) == 0 {
		s.free = append(s.free, p)
		return
	}
	next := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	s.assign(p, next.task)
	close(next.ready)
}

// runOthers returns after every goroutine has run that was ready, or whose data had
// arrived from the network. runtime.Gosched is not enough: while a goroutine is ready, the
// runtime polls the network only every ten milliseconds. The caller therefore waits for
// the network poller as well: for a byte that it sends to itself through a pipe.
func (p *slot) runOthers() {
	p.once.Do(p.open)
	var b [1]byte
	if p.w == nil {
		runtime.Gosched()
		return
	}
	// Another goroutine writes the byte, so that the caller already sleeps in Read.
	worker.Go(func() { _, _ = p.w.Write(b[:]) })
	_, _ = p.r.Read(make([]byte, 1))
}

// open creates the pipe. The garbage collector closes it with the slot. On failure, when
// the process has no file descriptors left, runOthers falls back to runtime.Gosched.
func (p *slot) open() { p.r, p.w, _ = os.Pipe() }
