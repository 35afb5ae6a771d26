package server

import (
	"sync"
	"time"

	"triplane/generic/base/metrics"
	"triplane/generic/serve/filters"
	"triplane/generic/storage/wire"
)

// stalledConnection closes an HTTP/2 connection whose client takes less than a frame of what waits for it in
// filters.StalledLimit: by keeping its flow-control windows shut it would keep the streams. One that reads no
// bytes at all is closed by the writes' deadline (gathered).
//
// wait, took and idle belong to the connection's goroutine, Patient to everybody.
type stalledConnection struct {
	limit time.Duration
	end   func()

	waiting bool // as the connection's goroutine knows it
	taken   int

	mu      sync.Mutex
	timer   *time.Timer // nil before the first wait
	running bool
	patient int
}

var _ filters.Connection = (*stalledConnection)(nil)

func newStalledConnection(limit time.Duration, m *metrics.Stalls, end func()) *stalledConnection {
	return &stalledConnection{limit: limit, end: func() {
		m.Ended("connection")
		end()
	}}
}

// wait notes that something waits, and nothing of it can be sent.
func (c *stalledConnection) wait() {
	if c.waiting {
		return
	}
	c.waiting, c.taken = true, 0
	c.restart()
}

// took notes that the client takes so many bytes.
func (c *stalledConnection) took(bytes int) {
	if !c.waiting {
		return
	}
	if c.taken += bytes; c.taken >= wire.DataFrame {
		c.taken = 0
		c.restart()
	}
}

// idle notes that nothing waits.
func (c *stalledConnection) idle() {
	if !c.waiting {
		return
	}
	c.waiting = false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	c.timer.Stop()
}

func (c *stalledConnection) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = true
	if c.timer == nil {
		c.timer = time.AfterFunc(c.limit, c.over)
		return
	}
	c.timer.Reset(c.limit)
}

// over is called when the client has taken too little for the limit.
func (c *stalledConnection) over() {
	c.mu.Lock()
	if !c.running {
		c.mu.Unlock()
		return
	}
	if c.patient > 0 {
		c.timer.Reset(c.limit)
		c.mu.Unlock()
		return
	}
	c.running = false
	c.mu.Unlock()
	c.end()
}

// Patient implements filters.Connection.
func (c *stalledConnection) Patient(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patient += requests
}
