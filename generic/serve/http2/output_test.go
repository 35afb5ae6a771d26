package http2

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	frame "golang.org/x/net/http2"
)

// An event of many streams of a connection is few writes, and a short response is one.
func TestFewWrites(t *testing.T) {
	event := strings.Repeat("x", 100)
	gates := make(chan *gate, 1)
	s, all := serveDetached(t, func(d *detached, w http.ResponseWriter, r *http.Request) bool {
		if d.runs.Load() > 1 {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
		return r.Context().Err() != nil
	}, func(s *site) { s.MaxStreams = 100 }, gated(gates))
	client := dial(t, s, open...)
	var streams []*detached
	for range s.MaxStreams {
		client.get("/")
		streams = append(streams, within(t, all, "the handler"))
	}
	client.sync()
	for _, d := range streams {
		eventually(t, "the first call", func() bool { return d.runs.Load() == 1 })
	}
	g := <-gates
	before := g.writes.Load()
	for _, d := range streams {
		d.wake()
	}
	total := 0
	client.until("the events", func() bool {
		total = 0
		for _, r := range client.streams {
			total += r.body.Len()
		}
		return total == s.MaxStreams*len(event)
	})
	// Each write has the events that were written during the one before.
	atMost(t, g.writes.Load()-before, int64(s.MaxStreams/3), "writes")
	t.Logf("%d writes", g.writes.Load()-before)
}

func TestResponseIsAWrite(t *testing.T) {
	gates := make(chan *gate, 1)
	s := serve(t, hello, gated(gates))
	client := dial(t, s, open...)
	client.sync()
	g := <-gates
	for range 10 {
		before := g.writes.Load()
		client.result(client.get("/"))
		if n := g.writes.Load() - before; n != 1 {
			t.Errorf("%d writes", n)
		}
	}
}

// Long responses of a connection take turns, a frame each, and short ones do not wait for them.
func TestFairness(t *testing.T) {
	gates := make(chan *gate, 1)
	begun := make(chan struct{}, 10)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			hello(w, r)
			return
		}
		begun <- struct{}{}
		io.WriteString(w, strings.Repeat("x", 1_000_000)) // one call, so that it always waits
	}, gated(gates))
	client := dial(t, s, open...)
	client.sync()
	c := within(t, s.connections, "the connection")
	release := (<-gates).hold()
	defer release()
	waiting := func(n int) func() bool {
		return func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			found := 0
			for _, s := range c.streams {
				if s.waits || s.flushing {
					found++
				}
			}
			return found == n
		}
	}
	a, b := client.get("/"), client.get("/")
	eventually(t, "two that wait, or write", waiting(2))
	short := client.get("/short")
	eventually(t, "the short response", waiting(3))
	release()
	client.result(short)
	atMost(t, client.of(a).body.Len()+client.of(b).body.Len(), 10*frameSize, "bytes before the short response")
	client.result(a)
	client.result(b)
	// While both have data, none sends more than a few frames in a row: the first has what fits before the other begins.
	row, most, left := 0, 0, map[uint32]int{}
	for _, id := range client.order {
		left[id]++
	}
	for i, id := range client.order {
		if left[id]--; left[a] == 0 || left[b] == 0 {
			break
		}
		if row++; i > 0 && client.order[i-1] != id {
			row = 1
		}
		most = max(most, row)
	}
	atMost(t, most, 4, "frames in a row")
}

// SetWriteDeadline ends a write that waits for its turn, and one to a client that does not read, whose connection it
// closes.
func TestPastDeadlines(t *testing.T) {
	gates := make(chan *gate, 1)
	writers, failed := make(chan http.ResponseWriter, 2), make(chan error, 2)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writers <- w
		_, err := io.WriteString(w, strings.Repeat("x", 200_000))
		failed <- err
	}, gated(gates))
	client := dial(t, s, open...)
	client.sync()
	g := <-gates
	defer g.hold()()
	client.get("/")
	flushes := within(t, writers, "the first handler")
	within(t, g.waits, "the first write")
	client.get("/")
	waits := within(t, writers, "the second handler")
	if !flushes.(*response).isFlushing() {
		flushes, waits = waits, flushes // flushSoon has written for the first
	}
	past := time.Unix(1, 0)
	for _, c := range []struct {
		w    http.ResponseWriter
		want error
	}{{waits, os.ErrDeadlineExceeded}, {flushes, errClosed}} {
		if err := http.NewResponseController(c.w).SetWriteDeadline(past); err != nil {
			t.Error(err)
		}
		if err := within(t, failed, "the end of a write"); !errors.Is(err, c.want) && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	client.untilClosed()
}

func (w *response) isFlushing() bool {
	w.s.c.mu.Lock()
	defer w.s.c.mu.Unlock()
	return w.s.flushing
}

// The window of the connection is closed and a response waits for it. The header of another response is sent.
func TestHeaderDuringClosedWindow(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			io.WriteString(w, long+long)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	client := dial(t, s, frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1 << 30})
	client.sync()
	c := within(t, s.connections, "the connection")
	c.mu.Lock()
	c.out.window = 65535
	c.mu.Unlock()
	id := client.get("/long")
	client.until("what the window permits", func() bool { return client.of(id).body.Len() == 65535 })
	eventually(t, "the wait", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.out.turns) == 1 && !c.out.due && !c.out.writing && c.stall.waiting == 1
	})
	other := client.get("/")
	client.must(client.conn.SetReadDeadline(time.Now().Add(time.Second)))
	if _, err := client.conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("stream %d has no response: %v", other, err)
	}
}

// Streams that wait are listed once each, and those that have ended not at all: otherwise the list grows while a client
// does not read.
func TestTurnsAreBounded(t *testing.T) {
	ended := make(chan struct{}, 1000)
	for name, round := range map[string]func(c *rawClient, o *Connection){
		"resets": func(c *rawClient, o *Connection) {
			id := c.get("/")
			eventually(c.t, "the wait", func() bool {
				o.mu.Lock()
				defer o.mu.Unlock()
				return o.streams[id] != nil && o.streams[id].waits
			})
			c.must(c.WriteRSTStream(id, frame.ErrCodeCancel))
			within(c.t, ended, "the handler")
		},
		"windows": func(c *rawClient, o *Connection) {
			for _, window := range []uint32{0, 100} {
				c.must(c.WriteSettings(frame.Setting{ID: frame.SettingInitialWindowSize, Val: window}))
				eventually(c.t, "the wait", func() bool {
					o.mu.Lock()
					defer o.mu.Unlock()
					s := o.streams[1]
					return o.out.initial == int32(window) && s.waits == (window > 0)
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			gates, proceed := make(chan *gate, 1), make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.(http.Flusher).Flush()
				if r.URL.Path == "/wait" {
					<-proceed
					io.WriteString(w, long)
					return
				}
				<-r.Context().Done()
				ended <- struct{}{}
			}, gated(gates))
			client := dial(t, s, frame.Setting{ID: frame.SettingInitialWindowSize, Val: 100})
			client.get("/wait")
			client.until("the header", func() bool { return len(client.of(1).blocks) == 1 })
			client.sync()
			c, g := within(t, s.connections, "the connection"), <-gates
			defer g.hold()()
			client.must(client.WritePing(false, mark))
			within(t, g.waits, "a write")
			c.mu.Lock()
			c.out.begin(frame.FramePing, 0, 0, enough) // there is no room
			c.out.bytes(make([]byte, enough))
			c.mu.Unlock()
			close(proceed)
			eventually(t, "the wait for a turn", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return len(c.out.turns) == 1
			})
			for range 100 {
				round(client, c)
			}
			c.mu.Lock()
			n := len(c.out.turns)
			c.mu.Unlock()
			atMost(t, n, s.MaxStreams, fmt.Sprintf("streams in turns of %d", s.MaxStreams))
		})
	}
}
