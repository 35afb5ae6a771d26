package http2

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	frame "golang.org/x/net/http2"
)

// TestEcho sends a large body and its echo through small windows.
func TestEcho(t *testing.T) {
	s := serve(t, echo)
	body := bytes.Repeat([]byte("0123456789"), 200_000)
	t.Run("net/http", func(t *testing.T) {
		resp, err := goClient(t).Post("https://"+s.address, "a/b", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("frames", func(t *testing.T) {
		body := body[:300_000]
		client := dial(t, s, frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1000})
		id := client.send(false, to("POST", "/")...)
		r, sent, returned := client.of(id), 0, 0
		for !r.over() {
			// The window of the server for the stream is 64 KiB, and that of the connection is larger.
			for sent < len(body) {
				n := min(len(body)-sent, 16<<10, 65535+int(client.updates[id])-sent)
				if n <= 0 {
					break
				}
				client.must(client.WriteData(id, sent+n == len(body), body[sent:sent+n]))
				sent += n
			}
			if n := r.body.Len() - returned; n > 0 {
				client.must(errors.Join(client.WriteWindowUpdate(id, uint32(n)), client.WriteWindowUpdate(0, uint32(n))))
				returned += n
			}
			client.must(client.conn.SetReadDeadline(time.Now().Add(patience)))
			client.read()
		}
		if !bytes.Equal(r.body.Bytes(), body) || r.reset != "" {
			t.Error(r)
		}
	})
}

// 100 Continue is sent when the handler reads, and not if it responds without reading.
func TestExpectContinue(t *testing.T) {
	client := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			echo(w, r)
		} else {
			w.WriteHeader(http.StatusForbidden)
		}
	}), open...)
	id := client.send(false, to("POST", "/read", "expect=100-continue")...)
	client.until("100", func() bool { return client.of(id).String() == "100 | open" })
	client.must(client.WriteData(id, true, []byte("x")))
	if r := client.result(id); r.body.String() != "x" || len(r.blocks) != 2 {
		t.Error(r)
	}
	id = client.send(false, to("POST", "/", "expect=100-continue")...)
	client.must(client.WriteData(id, true, []byte("x")))
	if r := client.result(id); r.blocks[0] != "403 content-length=0" {
		t.Error(r)
	}
}

// A response before the end of the request's body is complete, and then its stream is reset without an error. Data that
// is under way is ignored, and the connection's window is returned.
func TestEarlyResponse(t *testing.T) {
	s := serve(t, hello)
	client := dial(t, s, open...)
	for range 2 * int(s.ConnectionWindow) / (60 << 10) {
		id := client.send(false, to("POST", "/")...)
		client.must(client.WriteData(id, false, make([]byte, 16<<10)))
		if r := client.result(id); !strings.HasSuffix(r.String(), `"hello"`) {
			t.Fatal(r)
		}
		client.until("the reset", func() bool { return client.of(id).reset != "" })
		client.must(client.WriteData(id, false, make([]byte, 44<<10)))
		client.must(client.WriteHeaders(frame.HeadersFrameParam{
			StreamID: id, BlockFragment: client.encode("a=b"), EndStream: true, EndHeaders: true,
		}))
		client.sync()
		if r := client.of(id); r.reset != "NO_ERROR" {
			t.Errorf("%s, %q", r, r.frames)
		}
	}
	resp, err := goClient(t).Post("https://"+s.address, "a/b", io.LimitReader(zeros{}, 10<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestReads has the results of reads: after Close, after the deadline, after the end, after a reset and after the
// handler has returned.
func TestReads(t *testing.T) {
	results, next := make(chan string, 1), make(chan struct{})
	bodies := make(chan io.Reader, 1)
	client := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		p := make([]byte, 10)
		n, err := r.Body.Read(p)
		results <- string(p[:n])
		if err != nil {
			t.Error(err)
		}
		<-next
		switch r.URL.Path {
		case "/close":
			r.Body.Close()
		case "/deadline":
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
		_, err = r.Body.Read(p)
		_, again := r.Body.Read(p)
		if !errors.Is(err, again) {
			t.Errorf("%s: %v, then %v", r.URL.Path, err, again)
		}
		bodies <- r.Body
		results <- err.Error()
	}), open...)
	for path, want := range map[string]error{
		"/close": http.ErrBodyReadAfterClose, "/deadline": os.ErrDeadlineExceeded, "/end": io.EOF, "/reset": errReset,
	} {
		id := client.send(false, to("POST", path)...)
		client.must(client.WriteData(id, false, []byte("abc")))
		if got := within(t, results, "the first read"); got != "abc" {
			t.Errorf("%s: %q", path, got)
		}
		switch path {
		case "/end":
			client.must(client.WriteData(id, true, nil))
		case "/reset":
			client.must(client.WriteRSTStream(id, frame.ErrCodeCancel))
		}
		next <- struct{}{}
		if got := within(t, results, "the second read"); got != want.Error() {
			t.Errorf("%s: %s, want %v", path, got, want)
		}
		client.sync()
		if body := <-bodies; path != "/reset" {
			client.result(id)
			eventually(t, "the end of the handler", func() bool {
				_, err := body.Read(make([]byte, 1))
				return errors.Is(err, http.ErrBodyReadAfterClose)
			})
		}
	}
}

// A read that waits ends at its deadline, and when the body is closed.
func TestWaitingReadsEnd(t *testing.T) {
	failed := make(chan error, 1)
	client := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch r.URL.Path {
		case "/soon":
			_ = control.SetReadDeadline(time.Now().Add(time.Millisecond))
		case "/during":
			time.AfterFunc(time.Millisecond, func() { _ = control.SetReadDeadline(time.Now()) })
		case "/close":
			time.AfterFunc(time.Millisecond, func() { r.Body.Close() })
		}
		_, err := r.Body.Read(make([]byte, 1))
		failed <- err
	}), open...)
	for _, path := range []string{"/soon", "/during", "/close"} {
		want := os.ErrDeadlineExceeded
		if path == "/close" {
			want = http.ErrBodyReadAfterClose
		}
		id := client.send(false, to("POST", path)...)
		if err := within(t, failed, "the end of the read"); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
		client.result(id)
	}
}

// Announced trailers are in the request when the body has been read, no earlier: handlers may use the map before.
func TestRequestTrailers(t *testing.T) {
	read, trailers := make(chan struct{}), make(chan http.Header, 2)
	client := dial(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		<-read
		trailers <- r.Trailer.Clone()
		_, _ = io.Copy(io.Discard, r.Body)
		trailers <- r.Trailer
	}), open...)
	id := client.send(false, to("POST", "/", "trailer=a")...)
	client.must(client.WriteData(id, false, []byte("x")))
	client.must(client.WriteHeaders(frame.HeadersFrameParam{
		StreamID: id, BlockFragment: client.encode("a=1", "b=2", "a=3"), EndStream: true, EndHeaders: true,
	}))
	client.sync()
	close(read)
	if before := within(t, trailers, "the handler"); len(before) != 1 || before["A"] != nil {
		t.Errorf("before the body is read: %v", before)
	}
	if after := within(t, trailers, "the body"); len(after) != 1 || !slices.Equal(after["A"], []string{"1", "3"}) {
		t.Errorf("after the body was read: %v", after)
	}
	client.result(id)
}

// A long upload of which nothing is read does not stop other uploads of the connection.
func TestUnreadUpload(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/unread" {
			<-end
		}
		n, _ := io.Copy(io.Discard, r.Body)
		io.WriteString(w, strings.Repeat("x", int(n>>20)))
	})
	client := goClient(t)
	post := func(path string) string {
		resp, err := client.Post("https://"+s.address+path, "a/b", io.LimitReader(zeros{}, 5<<20))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return string(got) + " " + errorText(err)
	}
	unread := make(chan string, 1)
	go func() { unread <- post("/unread") }()
	for range 3 {
		if got := post("/"); got != "xxxxx " {
			t.Error(got)
		}
	}
	close(end)
	if got := within(t, unread, "the long upload"); got != "xxxxx " {
		t.Error(got)
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// More data than the windows permit resets the stream, or ends the connection.
func TestFlowControlOfBodies(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := dial(t, s, open...)
	id := client.send(false, to("POST", "/")...)
	client.must(client.WriteData(id, false, make([]byte, 60<<10)))
	client.must(client.WriteData(id, false, make([]byte, 5<<10)))
	if r := client.result(id); r.String() != "reset FLOW_CONTROL_ERROR" {
		t.Error(r)
	}
	for range 9 {
		id := client.send(false, to("POST", "/")...)
		client.must(client.WriteData(id, false, make([]byte, 60<<10)))
	}
	if code := client.violation(); code != "FLOW_CONTROL_ERROR" {
		t.Errorf("GOAWAY %q", client.goAway)
	}
}

// A body whose reader is always behind does not keep what was read.
func TestBufferOfBody(t *testing.T) {
	var b body
	b.add(make([]byte, 10))
	for range 100_000 {
		b.add(make([]byte, 10))
		b.at += 10 // as Read does
	}
	atMost(t, cap(b.data), 4096, "the size of a buffer with 10 bytes")
}

// What has arrived of the bodies of requests that were reset while they waited for a handler is given back.
func TestQueuedBodiesReturnTheWindow(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-end
		}
		echo(w, r)
	})
	client := dial(t, s, open...)
	for range s.MaxStreams {
		client.must(client.WriteRSTStream(client.get("/slow"), frame.ErrCodeCancel))
	}
	for range 7 { // of the 8 * 64 KiB of the connection
		id := client.send(false, to("POST", "/")...)
		for range 4 {
			client.must(client.WriteData(id, false, make([]byte, 16<<10)))
		}
		client.must(client.WriteRSTStream(id, frame.ErrCodeCancel))
	}
	client.sync()
	close(end)
	client.result(client.get("/"))
	c := <-s.connections
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.received; w.window+w.read != w.limit {
		t.Errorf("%d of %d bytes of the window are lost", w.limit-w.window-w.read, w.limit)
	}
}
