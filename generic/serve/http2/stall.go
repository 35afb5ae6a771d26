package http2

import "time"

// stall ends a connection whose client reads less than a frame of the pending data within a limit. A client could
// otherwise occupy streams by keeping its flow-control windows closed. Connections whose client reads no bytes at all
// are closed by the limit of writes (watchWrite). The mutex of the connection guards it.
type stall struct {
	c       *Connection
	timer   *time.Timer // nil before the first wait
	since   time.Time   // when the client has last read a frame
	waiting int         // streams
	taken   int         // bytes since then
	patient int         // requests whose clients may read slowly
	running bool
}

// wait records that one more stream waits for the client's windows.
func (t *stall) wait() {
	if t.waiting++; t.waiting > 1 {
		return
	}
	t.taken, t.since = 0, time.Now()
	if t.running {
		return
	}
	t.running = true
	if t.timer == nil {
		t.timer = time.AfterFunc(t.c.server.StalledLimit, t.check)
		return
	}
	t.timer.Reset(t.c.server.StalledLimit)
}

// done records that a stream waits no more.
func (t *stall) done() { t.waiting-- }

// took records that the client has read so many bytes.
func (t *stall) took(bytes int) {
	if t.waiting == 0 {
		return
	}
	if t.taken += bytes; t.taken >= frameSize {
		t.taken, t.since = 0, time.Now()
	}
}

func (t *stall) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// check is called when the limit has passed since some wait.
func (t *stall) check() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	left := t.c.server.StalledLimit - time.Since(t.since)
	switch {
	case t.waiting == 0:
		t.running = false
		return
	case t.patient > 0:
		t.since = time.Now()
		left = t.c.server.StalledLimit
	case left <= 0:
		t.c.stalled()
		return
	}
	t.timer.Reset(left)
}
