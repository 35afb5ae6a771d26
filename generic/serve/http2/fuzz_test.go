package http2

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	frame "golang.org/x/net/http2"

	"triplane.dev/internal/worker"
)

// fuzzed serves requests by path.
func fuzzed(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/detach":
		w.(http.Flusher).Flush()
		w.(detacher).Detach(func() bool { return r.Context().Err() != nil }, func(any) {})
	case "/long":
		for range 10 {
			io.WriteString(w, long)
		}
	case "/wait":
		<-r.Context().Done()
	case "/close":
		w.Header().Set("Connection", "close")
	default:
		w.Header().Set("Trailer", "A")
		echo(w, r)
		for name, values := range r.Trailer {
			w.Header()[name] = values
		}
	}
}

// fuzzSeeds returns frames that follow the preface and the settings.
func fuzzSeeds(t testing.TB) (seeds [][]byte) {
	for _, write := range []func(c *rawClient){
		func(c *rawClient) { c.get("/") },
		func(c *rawClient) {
			c.get("/long")
			_ = c.WriteWindowUpdate(0, 1<<20)
			_ = c.WriteWindowUpdate(1, 1<<20)
		},
		func(c *rawClient) { c.get("/detach"); _ = c.WriteRSTStream(1, frame.ErrCodeCancel) },
		func(c *rawClient) { c.get("/wait"); c.get("/detach"); c.get("/close"); c.get("/") },
		func(c *rawClient) {
			id := c.send(false, to("POST", "/", "trailer=a", "expect=100-continue")...)
			_ = c.WriteData(id, false, []byte("body"))
			_ = c.WriteDataPadded(id, false, []byte("body"), make([]byte, 3))
			_ = c.WriteHeaders(frame.HeadersFrameParam{StreamID: id, BlockFragment: c.encode("a=b"), EndStream: true, EndHeaders: true})
		},
		func(c *rawClient) {
			block := c.encode(to("GET", "/", "cookie=a", "cookie=b")...)
			_ = c.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5], EndStream: true})
			_ = c.WriteContinuation(1, true, block[5:])
		},
		func(c *rawClient) {
			c.get("/long")
			_ = c.WriteSettings(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 0}, frame.Setting{ID: frame.SettingHeaderTableSize})
			_ = c.WriteSettings(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1 << 20})
			_ = c.WritePriority(1, frame.PriorityParam{StreamDep: 3})
			_ = c.WritePing(false, mark)
			_ = c.WriteGoAway(0, frame.ErrCodeNo, []byte("end"))
		},
	} {
		var b bytes.Buffer
		c := &rawClient{t: t, Framer: frame.NewFramer(&b, nil)}
		c.init()
		write(c)
		seeds = append(seeds, b.Bytes())
	}
	return seeds
}

// FuzzConnection sends arbitrary bytes after the preface and the settings. The server must not panic, and must end with
// the connection.
func FuzzConnection(f *testing.F) {
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{Protocol}}
	var start bytes.Buffer
	start.WriteString(frame.ClientPreface)
	_ = frame.NewFramer(&start, nil).WriteSettings()
	f.Fuzz(func(t *testing.T, input []byte) {
		before, panics := runtime.NumGoroutine(), worker.Panics()
		a, b := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			conn := tls.Server(a, config)
			if conn.Handshake() == nil {
				newServer().Serve(conn, http.HandlerFunc(fuzzed), func(*Connection) context.Context { return context.Background() })
			}
		}()
		conn := tls.Client(b, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{Protocol}})
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() { defer close(read); _, _ = io.Copy(io.Discard, conn) }()
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, _ = conn.Write(append(bytes.Clone(start.Bytes()), input...))
		b.Close()
		within(t, served, "the end of Serve")
		within(t, read, "the end of the client")
		eventually(t, "the end of the goroutines", func() bool { return runtime.NumGoroutine() <= before })
		if n := worker.Panics() - panics; n > 0 {
			t.Errorf("%d panics", n)
		}
	})
}
