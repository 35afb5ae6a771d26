package secureserving

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
)

// gatheredPair returns a gathered connection and its client, after their handshake.
func gatheredPair(t testing.TB) (*gathered, *gatedConn, *tls.Conn) {
	t.Helper()
	some := httptest.NewTLSServer(http.NotFoundHandler())
	defer some.Close()
	l, err := Listen(t.Context(), "127.0.0.1:0", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	gate := &gatedConn{Conn: accepted, entered: make(chan struct{}, 1000), open: make(chan struct{})}
	server := tls.Server(gate, &tls.Config{Certificates: some.TLS.Certificates, SessionTicketsDisabled: true})
	client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	done := make(chan error, 1)
	go func() { done <- client.HandshakeContext(context.WithoutCancel(t.Context())) }()
	if err := errors.Join(server.HandshakeContext(t.Context()), <-done); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gate.release(); client.Close(); server.Close() })
	return gather(server), gate, client
}

// gatedConn blocks writes while it is shut.
type gatedConn struct {
	net.Conn
	shut    atomic.Bool
	writes  atomic.Int32
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (c *gatedConn) release() { c.once.Do(func() { close(c.open) }) }

func (c *gatedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	if c.shut.Load() {
		c.entered <- struct{}{}
		<-c.open
	}
	return c.Conn.Write(p)
}

func TestSmallWritesGoOutTogether(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	conn, gate, client := gatheredPair(t)
	gate.writes.Store(0)
	gate.shut.Store(true)
	var want bytes.Buffer
	write := func(text string) {
		want.WriteString(text)
		if n, err := conn.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	write("first ")
	<-gate.entered
	for i := range 100 {
		write(fmt.Sprintf("event %d ", i))
	}
	gate.shut.Store(false)
	gate.release()
	got := make([]byte, want.Len())
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("%q, %v", got, err)
	}
	if n := gate.writes.Load(); n != 2 {
		t.Errorf("%d system calls for two batches", n)
	}
	// Large writes keep their position after small ones.
	want.Reset()
	write("small ")
	write(string(bytes.Repeat([]byte("large "), gatherMax)))
	write("the end")
	conn.Close()
	all, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(all, want.Bytes()) {
		t.Errorf("%d bytes of %d, %v", len(all), want.Len(), err)
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		// The write is buffered, and its error is reported later.
		for deadline := time.Now().Add(30 * time.Second); err == nil; _, err = conn.Write([]byte("x")) {
			if time.Now().After(deadline) {
				t.Fatal("a closed connection returns no error")
			}
		}
	}
}

// A client that reads nothing occupies one record's bytes, and blocks writers; closing the connection releases
// them.
func TestGatheredBytesAreBounded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	conn, gate, _ := gatheredPair(t)
	gate.shut.Store(true)
	const size = 1000
	var accepted atomic.Int64
	stuck := make(chan error)
	go func() {
		for {
			if _, err := conn.Write(make([]byte, size)); err != nil {
				stuck <- err
				return
			}
			accepted.Add(size)
		}
	}()
	<-gate.entered
	for deadline := time.Now().Add(30 * time.Second); accepted.Load() < gatherMax/size*size; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the buffer is not full")
		}
	}
	conn.Close()
	gate.release()
	if err := <-stuck; err == nil {
		t.Error("a write to a closed connection succeeded")
	}
	// One batch is being written, the other is buffered.
	if n := accepted.Load(); n > 2*gatherMax {
		t.Errorf("%d bytes were accepted of which none went out", n)
	}
}

// The end of a response is written at once together with the buffered bytes, however busy the processors are.
func TestAnEndOfAnAnswerGoesOutAtOnce(t *testing.T) {
	conn, gate, client := gatheredPair(t)
	var b bytes.Buffer
	framer := http2.NewFramer(&b, nil)
	frame := func(last bool, size int) []byte {
		b.Reset()
		if err := framer.WriteData(1, last, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(b.Bytes())
	}
	took := 0
	for _, lot := range [][][]byte{
		{frame(true, 0)},
		{frame(true, 100)},
		{frame(false, 100), frame(true, 100)},
		{frame(true, 100)[:5], frame(true, 100)[5:]},
		{frame(false, 5000)[:4096], frame(false, 5000)[4096:], frame(true, 5000)[:4096], frame(true, 5000)[4096:]},
		{slices.Concat(frame(true, 10), frame(false, 10))},
	} {
		// Only the writer of the end flushes the buffer.
		conn.mu.Lock()
		conn.due = true
		conn.mu.Unlock()
		for i, p := range lot {
			before := gate.writes.Load()
			if _, err := conn.Write(p); err != nil {
				t.Fatal(err)
			}
			took += len(p)
			if n := gate.writes.Load() - before; (n > 0) != (i == len(lot)-1) {
				t.Errorf("write %d of %d: %d system calls", i+1, len(lot), n)
			}
		}
		if _, err := io.ReadFull(client, make([]byte, took)); err != nil {
			t.Fatal(err)
		}
		took = 0
	}
}

func BenchmarkGatheredWrite(b *testing.B) {
	conn, _, client := gatheredPair(b)
	go func() { _, _ = io.Copy(io.Discard, client) }()
	event := make([]byte, 600)
	event[1], event[2] = 591>>8, 591&0xff // one frame
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(event); err != nil {
			b.Fatal(err)
		}
	}
}

// Only requests that net/http would change pass its handlers.
func TestDirect(t *testing.T) {
	served := func(by string, got *string) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { *got = by })
	}
	for target, c := range map[string]struct {
		tls  *tls.ConnectionState
		want string
	}{
		"/api": {&tls.ConnectionState{}, "handler"},
		"*":    {&tls.ConnectionState{}, "net/http"},
		"/x":   {nil, "net/http"}, // of the scheme http
	} {
		var got string
		r := &http.Request{Method: http.MethodOptions, RequestURI: target, TLS: c.tls}
		(&direct{served("handler", &got), served("net/http", &got)}).ServeHTTP(nil, r)
		if got != c.want {
			t.Errorf("%s is served by %s", target, got)
		}
	}
}
