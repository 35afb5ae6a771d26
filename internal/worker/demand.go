package worker

import (
	"sync"
	"time"
)

// Demand runs a function in a goroutine on request. Between runs it has no goroutine. It is safe for concurrent
// use; create it with NewDemand.
type Demand struct {
	f func()

	mu      sync.Mutex
	running bool
	again   bool          // requested during the run
	idle    chan struct{} // closed at the end of the run
}

// NewDemand returns a Demand for f, which never runs twice at the same time. After a panic it runs again a second
// later.
func NewDemand(f func()) *Demand { return &Demand{f: f} }

// Request makes f run. Requests while f runs cause one more run. Request does not block.
func (d *Demand) Request() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running {
		d.again = true
		return
	}
	d.running, d.idle = true, make(chan struct{})
	Go(d.run)
}

func (d *Demand) run() {
	for {
		if run(d.f) {
			time.AfterFunc(restartDelay, d.Request)
		}
		d.mu.Lock()
		if !d.again {
			d.running = false
			close(d.idle)
			d.mu.Unlock()
			return
		}
		d.again = false
		d.mu.Unlock()
	}
}

// Wait returns when f does not run and no run is requested.
func (d *Demand) Wait() {
	for {
		d.mu.Lock()
		idle, running := d.idle, d.running
		d.mu.Unlock()
		if !running {
			return
		}
		<-idle
	}
}
