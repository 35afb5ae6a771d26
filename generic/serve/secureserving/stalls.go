package secureserving

import (
	"sync"
	"time"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/generic/storage/wire"
)

// stalledConnection closes an HTTP/2 connection whose client reads less than a frame of the pending data in
// filters.StalledLimit. A client could otherwise occupy streams by keeping its flow-control windows closed.
// Connections whose client reads no bytes at all are closed by the write deadline (gathered).
//
// Only the connection's goroutine may call wait, took and idle. AddPatient is safe for concurrent use.
type stalledConnection struct {
	limit time.Duration
	end   func()

	waiting bool // used by the connection's goroutine only
	taken   int

	mu      sync.Mutex
	timer   *time.Timer // nil before the first wait
	running bool
	patient int
}

var _ filters.Connection = (*stalledConnection)(nil)

func newStalledConnection(limit time.Duration, m *requestmetrics.Stalls, end func()) *stalledConnection {
	return &stalledConnection{limit: limit, end: func() {
		m.Ended("connection")
		end()
	}}
}

// wait records that frames are pending and none can be sent.
func (c *stalledConnection) wait() {
	if c.waiting {
		return
	}
	c.waiting, c.taken = true, 0
	c.restart()
}

// took records that the client has read so many bytes.
func (c *stalledConnection) took(bytes int) {
	if !c.waiting {
		return
	}
	if c.taken += bytes; c.taken >= wire.DataFrame {
		c.taken = 0
		c.restart()
	}
}

// idle records that no frames are pending.
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

// over is called when the client has read too little within the limit.
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

// AddPatient implements filters.Connection.
func (c *stalledConnection) AddPatient(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patient += requests
}
