package http2

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	frame "golang.org/x/net/http2"
)

// detacher is what a response implements for package request.
type detacher interface {
	Detach(resume func() (over bool), end func(cause any)) (wake func())
}

// detached is a response whose handler has returned.
type detached struct {
	wake  func()
	runs  atomic.Int64
	ended chan any // receives the cause
}

// serveDetached serves responses whose continuation is resume. It is given by channel when its handler returns.
func serveDetached(
	t testing.TB, resume func(*detached, http.ResponseWriter, *http.Request) (over bool), change ...func(*site),
) (*site, chan *detached) {
	all := make(chan *detached, 1000)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		d := &detached{ended: make(chan any, 10)}
		w.Header().Set("Content-Type", "a/b")
		w.(http.Flusher).Flush()
		d.wake = w.(detacher).Detach(func() bool {
			d.runs.Add(1)
			return resume(d, w, r)
		}, func(cause any) {
			d.ended <- cause
			if cause == http.ErrAbortHandler { //nolint:errorlint // panics have values
				panic(cause)
			}
		})
		all <- d
	}, change...), all
}

// Events that a continuation writes reach the client, until it is over. It runs after the handler and after each wake.
func TestEvents(t *testing.T) {
	ran := make(chan int64, 10)
	s, all := serveDetached(t, func(d *detached, w http.ResponseWriter, r *http.Request) bool {
		n := d.runs.Load()
		fmt.Fprintf(w, "%d;", n)
		err := errors.Join(http.NewResponseController(w).Flush(), r.Context().Err())
		if err != nil {
			t.Error(err)
		}
		ran <- n
		return n == 4
	})
	client := dial(t, s, open...)
	id := client.get("/")
	d, want := within(t, all, "the handler"), ""
	for i := range 4 {
		if n := within(t, ran, "resume"); n != int64(i+1) {
			t.Errorf("call %d, want %d", n, i+1)
		}
		want += fmt.Sprintf("%d;", i+1)
		client.until(want, func() bool { return client.of(id).body.String() == want })
		d.wake()
	}
	if r := client.result(id); r.String() != `200 content-type=a/b | "1;2;3;4;"` {
		t.Error(r)
	}
	if cause := within(t, d.ended, "end"); cause != nil {
		t.Error(cause)
	}
	for range 100 {
		d.wake() // has no effect
	}
	client.sync()
	if n := d.runs.Load(); n != 4 || len(d.ended) > 0 {
		t.Errorf("%d calls, %d of end", n, len(d.ended))
	}
}

// Calls of resume do not overlap, and one follows each wake.
func TestConcurrentWakes(t *testing.T) {
	const wakers, each = 20, 500
	var active, woken atomic.Int64
	complete := make(chan struct{})
	s, all := serveDetached(t, func(*detached, http.ResponseWriter, *http.Request) bool {
		if active.Add(1) != 1 {
			t.Error("two calls of resume at the same time")
		}
		runtime.Gosched()
		over := woken.Load() == wakers*each
		active.Add(-1)
		if over {
			close(complete)
		}
		return over
	})
	client := dial(t, s, open...)
	id := client.get("/")
	d := within(t, all, "the handler")
	var group sync.WaitGroup
	for range wakers {
		group.Go(func() {
			for range each {
				woken.Add(1)
				d.wake()
			}
		})
	}
	within(t, complete, "the call after the last wake")
	client.result(id)
	group.Wait()
}

// A continuation ends by a panic, a reset of the client, and with its connection.
func TestEndsOfContinuations(t *testing.T) {
	s, all := serveDetached(t, func(d *detached, w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/panic" && d.runs.Load() == 2:
			panic("cause")
		case r.URL.Path == "/abort" && d.runs.Load() == 2:
			panic(http.ErrAbortHandler)
		}
		err := r.Context().Err()
		if flushed := http.NewResponseController(w).Flush(); err != nil && flushed == nil {
			t.Errorf("a flush after the end of the context: %v", err)
		}
		return err != nil
	})
	for _, c := range []struct {
		path, reset string
		cause       any
		act         func(c *rawClient, d *detached)
	}{
		{"/panic", "", "cause", func(_ *rawClient, d *detached) { d.wake() }}, // end may write a response for it
		{"/abort", "INTERNAL_ERROR", http.ErrAbortHandler, func(_ *rawClient, d *detached) { d.wake() }},
		{"/reset", "", nil, func(c *rawClient, _ *detached) { c.must(c.WriteRSTStream(1, frame.ErrCodeCancel)) }},
		{"/reset and wake", "", nil, func(c *rawClient, d *detached) {
			c.must(c.WriteRSTStream(1, frame.ErrCodeCancel))
			d.wake()
		}},
		{"/close", "", nil, func(c *rawClient, _ *detached) { c.conn.Close() }},
		{"/violation", "", nil, func(c *rawClient, _ *detached) { c.must(c.WriteData(99, false, nil)); c.violation() }},
	} {
		client := dial(t, s, open...)
		id := client.send(true, to("GET", strings.Fields(c.path)[0])...)
		d := within(t, all, "the handler")
		c.act(client, d)
		if cause := within(t, d.ended, "the end of "+c.path); cause != c.cause {
			t.Errorf("%s: %v", c.path, cause)
		}
		if c.path == "/panic" || c.path == "/abort" {
			if r := client.result(id); r.reset != c.reset {
				t.Errorf("%s: %s", c.path, r)
			}
		}
		d.wake()
		if c.path == "/close" || c.path == "/violation" {
			within(t, s.ended, "the end of Serve")
		} else {
			client.sync()
		}
		if len(d.ended) > 0 {
			t.Errorf("%s: end is called twice", c.path)
		}
	}
}

// A response can be detached before its header is written: what the handler has set is sent.
func TestDetachBeforeHeader(t *testing.T) {
	client := dial(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("A", "1")
		w.(detacher).Detach(func() bool {
			w.Header().Set("B", "2")
			w.WriteHeader(http.StatusNoContent)
			return true
		}, func(any) {})
	}), open...)
	if r := client.result(client.get("/")); r.String() != "204 a=1 b=2" {
		t.Error(r)
	}
}

// A detached response can have trailers.
func TestDetachedTrailers(t *testing.T) {
	client := dial(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "A")
		w.(http.Flusher).Flush()
		w.(detacher).Detach(func() bool {
			w.Header().Set("A", "1")
			return true
		}, func(any) {})
	}), open...)
	if r := client.result(client.get("/")); r.String() != "200 trailer=A | a=1" {
		t.Error(r)
	}
}

// A detached response has no goroutine while it waits. The connection keeps one for the next request.
func TestDetachedHasNoGoroutine(t *testing.T) {
	ran := make(chan struct{}, 1000)
	s, all := serveDetached(t, func(_ *detached, _ http.ResponseWriter, r *http.Request) bool {
		ran <- struct{}{}
		return r.Context().Err() != nil
	}, func(s *site) { s.MaxStreams = 50 })
	client := dial(t, s, open...)
	client.sync()
	before := runtime.NumGoroutine()
	for range s.MaxStreams {
		client.get("/")
	}
	for range s.MaxStreams {
		within(t, ran, "resume")
		within(t, all, "the handler")
	}
	eventually(t, "no goroutines", func() bool { return runtime.NumGoroutine() <= before+1 })
}
