package longwork

import (
	"time"

	"triplane.dev/internal/worker"
)

// Interval is the usual interval of progress reports.
const Interval = 5 * time.Second

// Clock schedules progress reports in a loop. It is not safe for concurrent use.
type Clock struct {
	every time.Duration
	last  time.Time
}

// Start returns a clock whose first report is due after the interval.
func Start(every time.Duration) *Clock { return &Clock{every, time.Now()} }

// Due reports whether a report is due, and if so schedules the next one.
func (c *Clock) Due() bool {
	now := time.Now()
	if now.Sub(c.last) < c.every {
		return false
	}
	c.last = now
	return true
}

// While runs work and calls say in another goroutine at each interval. After it has returned, say is not called.
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
