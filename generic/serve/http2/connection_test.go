package http2

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	frame "golang.org/x/net/http2"
)

// TestSettings has what a server sends at first, and its acknowledgements.
func TestSettings(t *testing.T) {
	s := serve(t, hello)
	client := dial(t, s)
	client.sync()
	want := map[frame.SettingID]uint32{
		frame.SettingMaxFrameSize: 64 << 10, frame.SettingMaxConcurrentStreams: 10, frame.SettingMaxHeaderListSize: 16 << 10,
		frame.SettingHeaderTableSize: 4096, frame.SettingInitialWindowSize: 64 << 10,
	}
	if fmt.Sprint(client.setting) != fmt.Sprint(want) || client.first != frame.FrameSettings {
		t.Errorf("%v first, %v", client.first, client.setting)
	}
	if client.acks != 1 || client.updates[0] != uint32(s.ConnectionWindow)-65535 {
		t.Errorf("%d acknowledgements, window %d", client.acks, client.updates[0])
	}
}

// A cipher that HTTP/2 prohibits ends the connection (RFC 9113, section 9.2.2).
func TestProhibitedCipher(t *testing.T) {
	s := serve(t, hello)
	client := connect(t, s, func(c *tls.Config) {
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
	})
	client.preface()
	if code := client.violation(); code != "INADEQUATE_SECURITY" {
		t.Error(code)
	}
}

// TestViolations has what ends a connection (GOAWAY), or a stream. Stream 1 is open, and 3 has ended.
func TestViolations(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/open" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	priority := frame.PriorityParam{StreamDep: 1}
	for _, c := range []struct {
		name, want string
		send       func(c *rawClient) error
	}{
		{"even stream", "PROTOCOL_ERROR", func(c *rawClient) error { c.next++; c.get("/"); return nil }},
		{"data of an idle stream", "PROTOCOL_ERROR", func(c *rawClient) error { return c.WriteData(9, false, nil) }},
		{"window of an idle stream", "PROTOCOL_ERROR", func(c *rawClient) error { return c.WriteWindowUpdate(9, 1) }},
		{"reset of an idle stream", "PROTOCOL_ERROR", func(c *rawClient) error { return c.WriteRSTStream(9, 0) }},
		{"earlier stream", "STREAM_CLOSED", func(c *rawClient) error { c.next = 3; c.get("/"); return nil }},
		{"push", "PROTOCOL_ERROR", func(c *rawClient) error {
			return c.WritePushPromise(frame.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}},
		{"header block in parts", "PROTOCOL_ERROR", func(c *rawClient) error {
			return errors.Join(c.WriteHeaders(frame.HeadersFrameParam{StreamID: 5}), c.WritePing(false, [8]byte{}))
		}},
		{"lone CONTINUATION", "PROTOCOL_ERROR", func(c *rawClient) error { return c.WriteContinuation(1, true, nil) }},
		{"compression", "COMPRESSION_ERROR", func(c *rawClient) error {
			return c.WriteHeaders(frame.HeadersFrameParam{StreamID: 5, EndHeaders: true,
				BlockFragment: []byte{0xff, 0xff, 0xff}})
		}},
		{"padding of a header", "PROTOCOL_ERROR", func(c *rawClient) error {
			return c.WriteRawFrame(frame.FrameHeaders, frame.FlagHeadersPadded|frame.FlagHeadersEndHeaders, 1, []byte{9, 1})
		}},
		{"frame size", "FRAME_SIZE_ERROR", func(c *rawClient) error { return c.WriteData(1, false, make([]byte, 64<<10+1)) }},
		{"connection window", "FLOW_CONTROL_ERROR", func(c *rawClient) error { return c.WriteWindowUpdate(0, 1<<31-1) }},
		{"initial window", "FLOW_CONTROL_ERROR", func(c *rawClient) error {
			return c.WriteSettings(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1 << 31})
		}},
		{"windows of streams", "FLOW_CONTROL_ERROR", func(c *rawClient) error {
			return errors.Join(c.WriteWindowUpdate(1, 1<<30-1),
				c.WriteSettings(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1<<31 - 1}))
		}},
		{"many settings", "ENHANCE_YOUR_CALM", func(c *rawClient) error {
			return c.WriteSettings(make([]frame.Setting, 65)...)
		}},

		{"stream window", "reset FLOW_CONTROL_ERROR", func(c *rawClient) error { return c.WriteWindowUpdate(1, 1<<31-1) }},
		{"window update of nothing", "reset PROTOCOL_ERROR", func(c *rawClient) error { return c.WriteWindowUpdate(1, 0) }},
		{"data after the end", "reset STREAM_CLOSED", func(c *rawClient) error { return c.WriteData(1, true, nil) }},
		{"header after the end", "reset STREAM_CLOSED", func(c *rawClient) error { c.next = 1; c.get("/"); return nil }},
		{"priority", "reset PROTOCOL_ERROR", func(c *rawClient) error { return c.WritePriority(1, priority) }},

		{"unknown frame", "", func(c *rawClient) error { return c.WriteRawFrame(99, 99, 1, []byte("x")) }},
		{"late window", "", func(c *rawClient) error { return c.WriteWindowUpdate(3, 1) }},
		{"late reset", "", func(c *rawClient) error { return c.WriteRSTStream(3, frame.ErrCodeCancel) }},
		{"settings", "", func(c *rawClient) error {
			return errors.Join(c.WriteSettings(make([]frame.Setting, 64)...), c.WriteSettingsAck())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := dial(t, s, open...)
			id := client.get("/open")
			client.result(client.get("/"))
			client.until("the header", func() bool { return len(client.of(id).blocks) == 1 })
			client.must(c.send(client))
			switch reset, stream := strings.CutPrefix(c.want, "reset "); {
			case stream:
				if r := client.result(id); r.reset != reset {
					t.Error(r)
				}
			case c.want != "":
				if code := client.violation(); code != c.want {
					t.Error(code)
				}
				return
			}
			if r := client.result(client.get("/")); r.String() != "200 content-length=0" {
				t.Errorf("a request after it: %s", r)
			}
		})
	}
	for name, send := range map[string]func(c *rawClient) error{
		"preface":        func(c *rawClient) error { _, err := io.WriteString(c.conn, strings.Repeat("x", 24)); return err },
		"first frame":    func(c *rawClient) error { return c.WritePing(false, [8]byte{}) },
		"acknowledgment": func(c *rawClient) error { return c.WriteSettingsAck() },
	} {
		client := connect(t, s)
		if name != "preface" {
			_, err := io.WriteString(client.conn, frame.ClientPreface)
			client.must(err)
		}
		client.must(send(client))
		if code := client.violation(); code != "PROTOCOL_ERROR" {
			t.Errorf("%s: %s", name, code)
		}
	}
}

// More requests than MaxStreams are refused. Those that are open continue.
func TestRefusedStreams(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-end })
	client := dial(t, s, open...)
	for range s.MaxStreams {
		client.get("/")
	}
	if r := client.result(client.get("/")); r.String() != "reset REFUSED_STREAM" {
		t.Error(r)
	}
	close(end)
	for i := range s.MaxStreams {
		if r := client.result(uint32(2*i + 1)); r.String() != "200 content-length=0" {
			t.Error(r)
		}
	}
}

// held serves requests that respond after end is called.
func held(t *testing.T, change ...func(*site)) (s *site, end func()) {
	ended := make(chan struct{})
	end = sync.OnceFunc(func() { close(ended) })
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-ended
		echo(w, r)
	}, change...)
	t.Cleanup(end)
	return s, end
}

// After Leave, or GOAWAY of the client, open requests complete. The connection is closed then.
func TestLeave(t *testing.T) {
	for name, leave := range map[string]func(*site, *rawClient){
		"server": func(s *site, _ *rawClient) { s.Leave(); s.Leave() },
		"client": func(_ *site, c *rawClient) { c.must(c.WriteGoAway(0, frame.ErrCodeNo, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the connection is closed a second later
			s, end := held(t)
			client := dial(t, s, open...)
			id := client.send(false, to("POST", "/")...)
			client.until("the header", func() bool { return len(client.of(id).blocks) == 1 })
			leave(s, client)
			client.until("GOAWAY", func() bool { return client.goAway == "1 NO_ERROR" })
			client.get("/") // is not processed
			client.sync()
			end()
			client.must(client.WriteData(id, true, []byte("end")))
			if r := client.result(id); r.String() != `200 | "end"` {
				t.Error(r)
			}
			client.untilClosed()
			if client.goAway != "1 NO_ERROR" || client.streams[3] != nil {
				t.Errorf("GOAWAY %q, %v", client.goAway, client.streams[3])
			}
		})
	}
}

// A connection is closed as soon as its client has acknowledged that it has read GOAWAY, and the response under way.
func TestAcknowledgedGoAwayClosesAtOnce(t *testing.T) {
	eventually(t, "a connection that does not linger", func() bool { return acknowledgeGoAway(t) < linger/2 })
}

// acknowledgeGoAway returns how long a connection stays open after its client has acknowledged its end.
func acknowledgeGoAway(t *testing.T) time.Duration {
	s, end := held(t)
	client := dial(t, s, open...)
	id := client.get("/")
	client.sync()
	s.Leave()
	client.until("GOAWAY", func() bool { return client.goAway != "" })
	client.must(client.WritePing(true, lastPing)) // acknowledges nothing
	client.sync()
	if client.pinged {
		t.Error("the last PING comes before the response")
	}
	end()
	client.result(id)
	client.until("the last PING", func() bool { return client.pinged })
	begun := time.Now()
	client.must(client.WritePing(true, lastPing))
	client.untilClosed()
	return time.Since(begun)
}

// A client sends frames of a request under way at GOAWAY. They do not end the connection, whose other requests
// complete.
func TestFramesAfterGoAway(t *testing.T) {
	for name, send := range map[string]func(*rawClient, uint32) error{
		"RST_STREAM":    func(c *rawClient, id uint32) error { return c.WriteRSTStream(id, frame.ErrCodeCancel) },
		"DATA":          func(c *rawClient, id uint32) error { return c.WriteData(id, true, []byte("x")) },
		"WINDOW_UPDATE": func(c *rawClient, id uint32) error { return c.WriteWindowUpdate(id, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s, end := held(t)
			client := dial(t, s, open...)
			id := client.get("/")
			client.sync()
			s.Leave()
			client.must(send(client, client.send(false, to("POST", "/")...)))
			if code := client.violation(); code != "" {
				t.Fatal(code)
			}
			end()
			if r := client.result(id); r.String() != "200" {
				t.Error(r)
			}
		})
	}
}

// The first frame of a server that is leaving is SETTINGS, too: clients end the connection otherwise, and do not retry.
func TestSettingsPrecedeGoAway(t *testing.T) {
	s := serve(t, hello)
	s.Leave()
	client := dial(t, s)
	client.until("GOAWAY", func() bool { return client.goAway != "" })
	if client.first != frame.FrameSettings || client.goAway != "0 NO_ERROR" {
		t.Errorf("%v first, GOAWAY %q", client.first, client.goAway)
	}
}

// A connection that fails while the server is leaving ends.
func TestLeaveFailedConnection(t *testing.T) {
	gates := make(chan *gate, 1)
	s := serve(t, hello, gated(gates))
	s.Leave()
	s.Server.mu.Lock() // Serve waits
	client := connect(t, s)
	within(t, s.connections, "Serve")
	(<-gates).Close()
	s.Server.mu.Unlock()
	client.untilClosed()
	if cause := within(t, s.ended, "the end of Serve"); cause != nil {
		t.Errorf("Serve panics: %v", cause)
	}
}

// Leave does not wait for a client that does not read: others would receive GOAWAY late.
func TestLeaveDoesNotWait(t *testing.T) {
	gates, left := make(chan *gate, 1), make(chan struct{})
	s := serve(t, hello, gated(gates))
	client := dial(t, s, open...)
	client.sync()
	release := (<-gates).hold()
	defer release()
	go func() { defer close(left); s.Leave() }()
	select {
	case <-left:
	case <-time.After(time.Second):
		t.Error("it waits")
	}
	release()
	<-left
}

// Requests of a Go client succeed while connections leave: it sends those that are not processed over another one.
func TestRetries(t *testing.T) {
	s := serve(t, echo, func(s *site) { s.MaxStreams = 100 })
	client := goClient(t)
	var left atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 40 {
				body := bytes.Repeat([]byte("x"), 1000)
				resp, err := client.Post("https://"+s.address, "a/b", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if i%10 == 9 { // not always, as clients wait after several retries
					select {
					case c := <-s.connections:
						left.Add(1)
						c.leave()
					default:
					}
				}
			}
		})
	}
	all.Wait()
	if left.Load() == 0 {
		t.Error("no connection has left")
	}
}

// A response that is being written when the connection ends is complete, even if its client reads it slowly.
func TestWriteDuringGoAway(t *testing.T) {
	t.Parallel() // the connection lingers
	gates := make(chan *gate, 1)
	s, end := held(t, gated(gates))
	client := dial(t, s, open...)
	id := client.get("/")
	client.until("the header", func() bool { return len(client.of(id).blocks) == 1 })
	client.sync()
	g, c := <-gates, within(t, s.connections, "the connection")
	release := g.hold()
	defer release()
	go c.leave()
	within(t, g.waits, "the write of GOAWAY")
	end()
	select {
	case <-g.closed:
		t.Error("the connection is closed during a write")
	case <-time.After(linger + linger/2):
		release()
		if r := client.result(id); r.String() != "200" {
			t.Error(r)
		}
	}
}

// A connection that has ended during a write is released, also if it was leaving.
func TestEndedConnectionIsReleased(t *testing.T) {
	for name, leave := range map[string]func(*Connection){"open": func(*Connection) {}, "leaving": (*Connection).leave} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the connection lingers
			gates, released := make(chan *gate, 1), make(chan struct{})
			s := serve(t, hello, gated(gates), func(s *site) { s.StalledLimit, s.IdleTimeout = linger, linger }) // timers keep it
			func() {
				client := dial(t, s, open...)
				client.sync()
				c, g := within(t, s.connections, "the connection"), <-gates
				runtime.AddCleanup(c, func(released chan struct{}) { close(released) }, released)
				defer g.hold()()
				client.must(client.WritePing(false, mark))
				within(t, g.waits, "a write")
				leave(c)
				client.conn.Close()
				within(t, s.ended, "the end of Serve")
			}()
			eventually(t, "the release", func() bool {
				runtime.GC()
				select {
				case <-released:
					return true
				case <-time.After(linger / 10):
					return false
				}
			})
		})
	}
}

// Connections without requests are closed after IdleTimeout, others are not.
func TestIdleTimeout(t *testing.T) {
	t.Parallel() // the connection is closed a second later
	s, end := held(t, func(s *site) { s.IdleTimeout = 50 * time.Millisecond })
	busy, idle := dial(t, s, open...), dial(t, s)
	id := busy.get("/")
	idle.untilClosed()
	if idle.goAway != "0 NO_ERROR" {
		t.Errorf("GOAWAY %q", idle.goAway)
	}
	busy.sync()
	if busy.goAway != "" {
		t.Errorf("GOAWAY %q during a request", busy.goAway)
	}
	end()
	busy.result(id)
	busy.untilClosed()
	if busy.goAway != "1 NO_ERROR" {
		t.Errorf("GOAWAY %q", busy.goAway)
	}
}

// Connections without settings are closed after HandshakeTimeout, others are not.
func TestHandshakeTimeout(t *testing.T) {
	s := serve(t, hello, func(s *site) { s.HandshakeTimeout = 50 * time.Millisecond })
	ready := dial(t, s, open...)
	ready.sync()
	for _, sent := range []string{"", frame.ClientPreface[:5], frame.ClientPreface} {
		client := connect(t, s)
		io.WriteString(client.conn, sent)
		client.untilClosed()
	}
	if r := ready.result(ready.get("/")); !strings.HasSuffix(r.String(), `"hello"`) {
		t.Error(r)
	}
}

// A client that resets streams faster than their handlers return does not have more handlers than MaxStreams.
func TestRapidReset(t *testing.T) {
	var running, most atomic.Int64
	end := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-end
		running.Add(-1)
	})
	client := dial(t, s, open...)
	for range (1 + maxQueued) * s.MaxStreams {
		client.must(client.WriteRSTStream(client.get("/"), frame.ErrCodeCancel))
	}
	client.sync()
	client.get("/")
	if code := client.violation(); code != "ENHANCE_YOUR_CALM" {
		t.Error(code)
	}
	close(end)
	atMost(t, most.Load(), int64(s.MaxStreams), "concurrent handlers")
}

// Requests that have waited for handlers of reset streams are served.
func TestQueuedRequests(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-end
		}
		hello(w, r)
	})
	client := dial(t, s, open...)
	for range s.MaxStreams {
		client.must(client.WriteRSTStream(client.get("/slow"), frame.ErrCodeCancel))
	}
	id, reset := client.get("/"), client.get("/")
	client.must(client.WriteRSTStream(reset, frame.ErrCodeCancel))
	client.sync()
	if r := client.of(id); r.String() != "open" {
		t.Error(r)
	}
	close(end)
	if r := client.result(id); !strings.HasSuffix(r.String(), `"hello"`) || client.streams[reset] != nil {
		t.Error(r)
	}
}

// A client that sends what is to be acknowledged and does not read is not served without limit.
func TestFloods(t *testing.T) {
	for name, add := range map[string]func(*frame.Framer) error{
		"PING":          func(f *frame.Framer) error { return f.WritePing(false, [8]byte{}) },
		"SETTINGS":      func(f *frame.Framer) error { return f.WriteSettings() },
		"closed stream": func(f *frame.Framer) error { return f.WriteData(1, true, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			gates := make(chan *gate, 1)
			s := serve(t, hello, gated(gates))
			client := dial(t, s, open...)
			client.result(client.get("/"))
			client.sync()
			c := within(t, s.connections, "the connection")
			release := (<-gates).hold()
			defer release()
			var frames bytes.Buffer
			f := frame.NewFramer(&frames, nil)
			for range flood / 4 {
				client.must(add(f))
			}
			_, err := client.conn.Write(frames.Bytes())
			client.must(err)
			eventually(t, "the end of the connection", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.leaving
			})
			release()
			if code := client.violation(); code != "ENHANCE_YOUR_CALM" {
				t.Error(code)
			}
		})
	}
}

// A connection whose client keeps its windows closed, or does not read, is closed after StalledLimit.
func TestStalledLimit(t *testing.T) {
	const limit = 100 * time.Millisecond
	window := frame.Setting{ID: frame.SettingInitialWindowSize, Val: 10}
	write := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, long) }
	soon := func(s *site) { s.StalledLimit = limit }
	t.Run("window of the stream", func(t *testing.T) {
		s := serve(t, write, soon)
		client := dial(t, s, window)
		client.get("/")
		client.untilClosed()
		if n := s.stalled.Load(); n != 1 {
			t.Errorf("%d calls of Stalled", n)
		}
	})
	t.Run("window of the connection", func(t *testing.T) {
		s := serve(t, write, soon)
		client := dial(t, s, open...)
		client.must(client.WriteSettings(open...))
		c := within(t, s.connections, "the connection")
		client.sync()
		c.mu.Lock()
		c.out.window = 10
		c.mu.Unlock()
		client.get("/")
		client.untilClosed()
		if n := s.stalled.Load(); n != 1 || client.of(1).body.Len() != 10 {
			t.Errorf("%d calls of Stalled, %s", n, client.of(1))
		}
	})
	t.Run("socket", func(t *testing.T) {
		gates := make(chan *gate, 1)
		s := serve(t, write, soon, gated(gates))
		client := dial(t, s, open...)
		client.sync()
		defer (<-gates).hold()()
		client.get("/")
		client.untilClosed()
		if n := s.stalled.Load(); n != 1 {
			t.Errorf("%d calls of Stalled", n)
		}
	})
	t.Run("byte by byte", func(t *testing.T) {
		client := dial(t, serve(t, write, soon), window)
		id := client.get("/")
		client.must(client.conn.SetReadDeadline(time.Now().Add(patience)))
		for end := time.Now().Add(10 * limit); !client.closed; {
			n := client.of(id).body.Len()
			for client.of(id).body.Len() == n && !client.closed {
				client.read()
			}
			time.Sleep(limit / 10)
			if time.Now().After(end) {
				t.Fatalf("the connection is open; the client has read %d bytes", n)
			}
			_ = client.WriteWindowUpdate(id, 1)
		}
	})
	t.Run("patient", func(t *testing.T) {
		s := serve(t, write, soon)
		client := dial(t, s, window)
		client.sync()
		c := within(t, s.connections, "the connection")
		c.AddPatient(1)
		begun := time.Now()
		client.get("/")
		time.AfterFunc(3*limit, func() { c.AddPatient(-1) })
		client.untilClosed()
		if took := time.Since(begun); took < 3*limit || s.stalled.Load() != 1 {
			t.Errorf("closed after %v, %d calls of Stalled", took, s.stalled.Load())
		}
	})
}
