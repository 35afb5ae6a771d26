package http2

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	frame "golang.org/x/net/http2"

	"triplane.dev/internal/worker"
)

var long = strings.Repeat("x", 40_000)

// TestResponses compares responses with what their handlers have written.
func TestResponses(t *testing.T) {
	const text = " content-type=text/plain; charset=utf-8"
	for _, c := range []struct {
		name, method string
		handler      http.HandlerFunc
		want         string
	}{
		{"short", "GET", hello, `200 content-length=5` + text + ` | "hello"`},
		{"empty", "GET", func(http.ResponseWriter, *http.Request) {}, `200 content-length=0`},
		{"status", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			w.WriteHeader(http.StatusInternalServerError)
		},
			`404 content-length=0`},
		{"long", "GET", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, long) }, `200` + text + ` | 40000 bytes`},
		{"in parts", "GET", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 40 {
				io.WriteString(w, long[i*1000:i*1000+1000])
			}
		}, `200` + text + ` | 40000 bytes`},
		{"long with length", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "40000")
			io.WriteString(w, long)
		}, `200 content-length=40000` + text + ` | 40000 bytes`},
		{"HEAD", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			io.WriteString(w, "hello")
		}, `200 content-length=5 content-type=a/b`},
		{"HEAD of long", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			io.WriteString(w, long)
			w.(http.Flusher).Flush()
			io.WriteString(w, long)
		}, `200 content-type=a/b`},
		{"HEAD of nothing", "HEAD", func(http.ResponseWriter, *http.Request) {}, `200`},
		{"204", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("a body of 204: %v", err)
			}
		}, `204`},
		{"304", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, `304`},
		{"sniffed", "GET", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
			`200 content-length=6 content-type=text/html; charset=utf-8 | "<html>"`},
		{"not sniffed", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<html>")
		}, `200 content-length=6 | "<html>"`},
		{"encoded", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "<html>")
		}, `200 content-encoding=gzip content-length=6 | "<html>"`},
		{"declared trailers", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "A, b, Content-Length")
			io.WriteString(w, "hello")
			w.Header().Set("A", "1")
			w.Header().Set("B", "2")
			w.Header().Set("C", "3")
		}, `200` + text + ` trailer=A, b, Content-Length | a=1 b=2 | "hello"`},
		{"undeclared trailers", "GET", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, long)
			w.Header().Set(http.TrailerPrefix+"a-b", "1")
		}, `200` + text + ` | a-b=1 | 40000 bytes`},
		{"trailers without a body", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(http.TrailerPrefix+"A", "1")
		}, `200 | a=1`},
		{"informational", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNoContent)
		}, `103 link=</a> | 103 link=</a> | 204 link=</a>`},
		{"invalid fields", "GET", func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Connection",
				"Bad Name", "", "Content-Length"} {
				w.Header()[name] = []string{"x"}
			}
			w.Header()["Values"] = []string{"a\nb", "c", "d\x00"}
			w.WriteHeader(http.StatusNoContent)
		}, `204 values=c`},
		{"no copy", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A", "1")
			w.WriteHeader(http.StatusNoContent)
			w.Header().Set("A", "2")
		}, `204 a=1`},
		{"too much", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			for _, s := range []string{"abc", "d"} {
				if _, err := io.WriteString(w, s); (s == "d") != errors.Is(err, http.ErrContentLength) {
					t.Errorf("the error of %q is %v", s, err)
				}
			}
		}, `200 content-length=3` + text + ` | "abc"`},
		{"large header", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A", long)
			w.WriteHeader(http.StatusNoContent)
		}, `204 a=` + long},
		{"abort", "GET", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `reset INTERNAL_ERROR`},
		{"abort later", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, `200 | reset INTERNAL_ERROR`},
		{"panic", "GET", func(http.ResponseWriter, *http.Request) { panic([]int{1}) }, `reset INTERNAL_ERROR`},
		{"invalid status", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(99) }, `reset INTERNAL_ERROR`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := dial(t, serve(t, c.handler), open...)
			r := client.result(client.send(true, to(c.method, "/")...))
			if r.String() != c.want {
				t.Errorf("%s\nwant %s", r, c.want)
			}
			if final := r.reset == "" && !strings.HasPrefix(r.blocks[0], "1"); final && r.dates != 1 {
				t.Errorf("%d dates", r.dates)
			}
		})
	}
}

// Responses that net/http sends in this way, too.
func TestResponsesAreThoseOfNetHTTP(t *testing.T) {
	for _, c := range []struct {
		name, method string
		handler      http.HandlerFunc
		want         string
	}{
		{"HEAD is sniffed", "HEAD", hello, `200 content-length=5 content-type=text/plain; charset=utf-8`},
		{"forbidden trailers", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "A")
			w.Header().Set("Content-Type", "a/b")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("A", "1")
			w.Header().Set(http.TrailerPrefix+"A", "1")
			w.Header().Set(http.TrailerPrefix+"Content-Length", "1")
			w.Header().Set(http.TrailerPrefix+"Transfer-Encoding", "x")
		}, `200 content-type=a/b trailer=A | a=1`},
		{"informational header", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Transfer-Encoding", "x")
			w.Header().Set("A", "1")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusNoContent)
		}, `103 a=1 | 204 a=1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := dial(t, serve(t, c.handler), open...)
			if r := client.result(client.send(true, to(c.method, "/")...)); r.String() != c.want {
				t.Errorf("%s\nwant %s", r, c.want)
			}
		})
	}
}

// A Content-Length without a value, and runtime.Goexit, do not leave a stream open.
func TestHandlersThatEndOddly(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"Content-Length": func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Length"] = nil },
		"Goexit":         func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
		"Goexit later": func(w http.ResponseWriter, _ *http.Request) {
			w.(detacher).Detach(func() bool { runtime.Goexit(); return true }, func(any) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, handler)
			client := dial(t, s, open...)
			client.get("/")
			c := within(t, s.connections, "the connection")
			over := func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.lastID == 1 && c.running == 0
			}
			for end := time.Now().Add(time.Second); !over() && time.Now().Before(end); {
				runtime.Gosched()
			}
			if !over() {
				t.Error("the handler runs")
				c.mu.Lock()
				c.running = 0 // lets Serve return
				c.mu.Unlock()
			}
		})
	}
}

// A flush sends at once, and the response continues.
func TestFlush(t *testing.T) {
	next := make(chan struct{})
	client := dial(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		for _, part := range []string{"", "a", "b"} {
			io.WriteString(w, part)
			if err := errors.Join(control.Flush(), control.EnableFullDuplex()); err != nil {
				t.Error(err)
			}
			<-next
		}
	}), open...)
	id := client.get("/")
	for _, want := range []string{"", "a", "ab"} {
		client.until("the part "+want, func() bool {
			return len(client.of(id).blocks) == 1 && client.of(id).body.String() == want
		})
		next <- struct{}{}
	}
	if r := client.result(id); r.String() != `200 | "ab"` {
		t.Error(r)
	}
}

// "Connection: close" sends GOAWAY. The response and others of the connection complete, then it is closed.
func TestConnectionClose(t *testing.T) {
	t.Parallel() // the connection is closed a second later
	next := make(chan struct{})
	client := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
		w.(http.Flusher).Flush()
		<-next
		io.WriteString(w, "end")
	}), open...)
	other, id := client.get("/"), client.get("/close")
	client.until("GOAWAY", func() bool { return client.goAway != "" })
	close(next)
	if a, b := client.result(other), client.result(id); a.String() != `200 | "end"` || b.String() != `200 | "end"` {
		t.Errorf("%s, %s", a, b)
	}
	client.untilClosed()
	if client.goAway != "3 NO_ERROR" {
		t.Errorf("GOAWAY %q", client.goAway)
	}
}

// A large header block is sent as frames of the size that each client accepts.
func TestContinuationFrames(t *testing.T) {
	client := dial(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("A", strings.Repeat("~", 40_000)) // Huffman coding does not shorten it
		w.WriteHeader(http.StatusNoContent)
	}), open...)
	client.ReadMetaHeaders = nil
	client.get("/")
	client.must(client.conn.SetReadDeadline(time.Now().Add(patience)))
	var kinds []string
	for {
		f, err := client.ReadFrame()
		client.must(err)
		if f.Header().StreamID == 1 {
			kinds = append(kinds, f.Header().Type.String())
			atMost(t, f.Header().Length, 16384, "the size of a frame")
			if f.Header().Flags.Has(frame.FlagHeadersEndHeaders) {
				break
			}
		}
	}
	if len(kinds) < 3 || kinds[0] != "HEADERS" || slices.Contains(kinds[1:], "HEADERS") {
		t.Error(kinds)
	}
}

// Writes and flushes after the client has reset the stream fail, and so do those after the handler has returned: no
// frame follows the end of a stream.
func TestWritesAfterTheEnd(t *testing.T) {
	writers := make(chan http.ResponseWriter, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			<-r.Context().Done()
			failing(t, w, errReset)
		}
		writers <- w
	})
	t.Run("reset", func(t *testing.T) {
		client := dial(t, s, open...)
		id := client.get("/reset")
		client.must(client.WriteRSTStream(id, frame.ErrCodeCancel))
		within(t, writers, "the handler")
	})
	t.Run("return", func(t *testing.T) {
		client := dial(t, s, open...)
		id := client.get("/")
		w := within(t, writers, "the handler")
		client.result(id)
		s := w.(*response).s
		eventually(t, "the handler has returned", func() bool {
			s.c.mu.Lock()
			defer s.c.mu.Unlock()
			return s.c.running == 0
		})
		failing(t, w, errReturned)
		client.sync()
		if r := client.of(id); len(r.frames) != 1 {
			t.Errorf("frames %q", r.frames)
		}
	})
}

// failing tests that writes and flushes fail.
func failing(t *testing.T, w http.ResponseWriter, want error) {
	t.Helper()
	if _, err := io.WriteString(w, long); !errors.Is(err, want) {
		t.Errorf("a write: %v, want %v", err, want)
	}
	if err := http.NewResponseController(w).Flush(); !errors.Is(err, want) {
		t.Errorf("a flush: %v, want %v", err, want)
	}
}

// A response whose deadline has passed is reset: WriteTimeout, and SetWriteDeadline, which replaces it.
func TestWriteDeadline(t *testing.T) {
	failed := make(chan error, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later" {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		}
		_, err := io.WriteString(w, long)
		failed <- err
	}, func(s *site) { s.WriteTimeout = time.Nanosecond })
	client := dial(t, s, open...)
	if r := client.result(client.get("/")); r.String() != "reset INTERNAL_ERROR" {
		t.Error(r)
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if r := client.result(client.get("/later")); r.body.Len() != len(long) || <-failed != nil {
		t.Error(r)
	}
}

// A response that waits for the client's window ends at its deadline, also if that is set during the wait.
func TestWriteDeadlineDuringWait(t *testing.T) {
	failed := make(chan error, 1)
	writers := make(chan http.ResponseWriter, 1)
	client := dial(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writers <- w
		_, err := io.WriteString(w, long)
		failed <- err
	}), frame.Setting{ID: frame.SettingInitialWindowSize, Val: 10})
	id := client.get("/")
	client.until("a part", func() bool { return client.of(id).body.Len() == 10 })
	w := within(t, writers, "the handler").(*response)
	eventually(t, "the wait for the window", func() bool {
		w.s.c.mu.Lock()
		defer w.s.c.mu.Unlock()
		return w.s.c.stall.waiting == 1
	})
	control := http.NewResponseController(w)
	for _, deadline := range []time.Time{time.Now().Add(time.Hour), time.Now()} {
		if err := control.SetWriteDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	if err := within(t, failed, "the deadline"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if r := client.result(id); r.reset != "INTERNAL_ERROR" {
		t.Error(r)
	}
}

// The body of a request can be read while the handler begins the response, as proxies do.
func TestContinueDuringResponse(t *testing.T) {
	client := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		var reading worker.Group
		reading.Go(func() { _, _ = io.Copy(io.Discard, r.Body) })
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		reading.Wait()
	}), open...)
	for range 20 {
		id := client.send(false, to("POST", "/", "expect=100-continue")...)
		client.must(client.WriteData(id, true, []byte("x")))
		if r := client.result(id); !strings.HasSuffix(r.String(), "200") {
			t.Error(r)
		}
	}
}
