package http2

import "time"

// stall ends a connection whose client reads too little within StalledLimit: nothing while a goroutine writes to it, or
// less than a frame of what streams have to send. Without the latter, a client could occupy streams by keeping its
// flow-control windows closed. The timer is set once within the limit, not for each write. The mutex of the connection
// guards it.
type stall struct {
	c       *Connection
	timer   *time.Timer // nil before the first wait
	running bool
	began   time.Time // the last write
	since   time.Time // when the client has last read a frame
	waiting int       // streams
	taken   int       // bytes since then
	patient int       // requests whose clients may read slowly
}

// writes records that a write to the client begins.
func (t *stall) writes() {
	t.began = time.Now()
	t.run()
}

// wait records that one more stream waits for the client's windows.
func (t *stall) wait() {
	if t.waiting++; t.waiting > 1 {
		return
	}
	t.taken, t.since = 0, time.Now()
	t.run()
}

// run starts the timer unless it runs.
func (t *stall) run() {
	switch limit := t.c.server.StalledLimit; {
	case t.running:
		return
	case t.timer == nil:
		t.timer = time.AfterFunc(limit, t.check)
	default:
		t.timer.Reset(limit)
	}
	t.running = true
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
	writing, now := t.c.out.writing, time.Now()
	if t.patient > 0 {
		t.since = now
	}
	if t.c.closed || !writing && t.waiting == 0 {
		t.running = false
		return
	}
	left := t.c.server.StalledLimit
	if writing {
		left = t.c.server.StalledLimit - now.Sub(t.began)
	}
	if t.waiting > 0 {
		left = min(left, t.c.server.StalledLimit-now.Sub(t.since))
	}
	if left <= 0 {
		t.c.stalled()
		return
	}
	t.timer.Reset(left)
}
