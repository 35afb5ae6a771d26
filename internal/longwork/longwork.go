package longwork

import (
	"time"

	"triplane/internal/worker"
)

// Interval is after which time, and how often, there is something to be said.
const Interval = 5 * time.Second

// Clock says when another line is due in a loop. It is for one goroutine.
type Clock struct {
	every time.Duration
	last  time.Time
}

// Start returns a clock of a work that begins now.
func Start(every time.Duration) *Clock { return &Clock{every, time.Now()} }

// Due reports whether a line is due, and counts it as said.
func (c *Clock) Due() bool {
	now := time.Now()
	if now.Sub(c.last) < c.every {
		return false
	}
	c.last = now
	return true
}

// While does a work and calls say meanwhile, in another goroutine, whenever a line is due. say
// is not called any more when it returns.
func While(every time.Duration, say func(), work func() error) error {
	done := make(chan struct{})
	var saying worker.Group
	saying.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				say()
			case <-done:
				return
			}
		}
	})
	defer saying.Wait()
	defer close(done)
	return work()
}
