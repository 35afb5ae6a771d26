package http2

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2/hpack"

	frame "golang.org/x/net/http2"

	"triplane.dev/internal/worker"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// patience bounds each wait of a test.
const patience = 10 * time.Second

// certificate is the server's, which clients do not verify.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// site is a Server on a TLS listener.
type site struct {
	*Server
	address     string
	wrap        func(net.Conn) net.Conn // of accepted connections; nil changes nothing
	connections chan *Connection        // in the order of Serve
	ended       chan any                // receives what Serve has panicked with, or nil
	stalled     atomic.Int64            // calls of Stalled
}

// newServer returns a Server with small limits. Its windows are those that clients expect before any settings.
func newServer() *Server {
	return &Server{
		MaxStreams: 10, MaxFrame: 64 << 10, StreamWindow: 64 << 10, ConnectionWindow: 512 << 10, MaxHeaderBytes: 16 << 10,
		HandshakeTimeout: patience, IdleTimeout: time.Minute, StalledLimit: patience, Stalled: func() {},
	}
}

// serve serves h until the end of the test, which waits for all connections.
func serve(t testing.TB, h http.HandlerFunc, change ...func(*site)) *site {
	t.Helper()
	s := &site{Server: newServer(), connections: make(chan *Connection, 1000), ended: make(chan any, 1000)}
	s.Stalled = func() { s.stalled.Add(1) }
	for _, f := range change {
		f(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate()}, NextProtos: []string{Protocol}, DynamicRecordSizingDisabled: true,
	}
	config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
	var all worker.Group
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if s.wrap != nil {
				c = s.wrap(c)
			}
			all.Go(func() { s.serveConn(tls.Server(c, config), h) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.Server.mu.Lock()
		open := make([]*Connection, 0, len(s.open))
		for c := range s.open {
			open = append(open, c)
		}
		s.Server.mu.Unlock()
		for _, c := range open {
			c.conn.NetConn().Close()
		}
		served := make(chan struct{})
		go func() { defer close(served); all.Wait() }()
		within(t, served, "Serve returns")
	})
	return s
}

func (s *site) serveConn(c *tls.Conn, h http.Handler) {
	defer c.Close()
	if c.Handshake() != nil {
		return
	}
	defer func() { s.ended <- recover() }()
	s.Serve(c, h, func(c *Connection) context.Context {
		s.connections <- c
		return context.Background()
	})
}

// within fails the test unless a channel is closed or receives soon.
func within[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("too late: %s", what)
	}
	return v
}

// eventually waits for a condition that no channel reports.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("too late: %s", what)
		}
	}
}

// goClient returns a client of net/http for the site.
func goClient(t testing.TB) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// rawClient sends arbitrary frames. It reads only while a test waits for something.
type rawClient struct {
	t testing.TB
	*frame.Framer
	conn    *tls.Conn
	block   bytes.Buffer
	encoder *hpack.Encoder
	next    uint32

	streams map[uint32]*result
	first   frame.FrameType   // of the first frame
	goAway  string            // "LAST-ID CODE"; "" before GOAWAY
	pinged  bool              // by the last PING
	pongs   int               // with mark
	acks    int               // of settings
	updates map[uint32]uint32 // sums of WINDOW_UPDATE, by stream
	setting map[frame.SettingID]uint32
	order   []uint32 // the streams of DATA frames
	closed  bool
}

// result is what a client has received on a stream.
type result struct {
	blocks []string // "STATUS NAME=VALUE …", sorted
	dates  int
	body   bytes.Buffer
	frames []string // their types
	ended  bool
	reset  string // a code
}

// over reports whether no more frames follow.
func (r *result) over() bool { return r.ended || r.reset != "" }

// String has the header blocks, the body, and the code of a reset.
func (r *result) String() string {
	all := slices.Clone(r.blocks)
	if n := r.body.Len(); n > 100 {
		all = append(all, fmt.Sprintf("%d bytes", n))
	} else if n > 0 {
		all = append(all, fmt.Sprintf("%q", r.body.String()))
	}
	if r.reset != "" {
		all = append(all, "reset "+r.reset)
	} else if !r.ended {
		all = append(all, "open")
	}
	return strings.Join(all, " | ")
}

// open has the settings of clients that never wait for windows.
var open = []frame.Setting{{ID: frame.SettingInitialWindowSize, Val: 1 << 30}}

// dial connects, and sends the preface and settings. The window of the connection is large if that of streams is.
func dial(t testing.TB, s *site, settings ...frame.Setting) *rawClient {
	t.Helper()
	c := connect(t, s)
	c.preface(settings...)
	if len(settings) > 0 && settings[0] == open[0] {
		c.must(c.WriteWindowUpdate(0, 1<<30))
	}
	return c
}

// connect completes the handshake of TLS.
func connect(t testing.TB, s *site, change ...func(*tls.Config)) *rawClient {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{Protocol}}
	for _, f := range change {
		f(config)
	}
	conn, err := tls.Dial("tcp", s.address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &rawClient{t: t, conn: conn, Framer: frame.NewFramer(conn, conn)}
	c.init()
	return c
}

func (c *rawClient) init() {
	c.next, c.streams = 1, map[uint32]*result{}
	c.updates, c.setting = map[uint32]uint32{}, map[frame.SettingID]uint32{}
	c.encoder = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.AllowIllegalWrites = true
}

func (c *rawClient) preface(settings ...frame.Setting) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, frame.ClientPreface)
	c.must(errors.Join(err, c.WriteSettings(settings...)))
}

func (c *rawClient) must(err error) {
	if c.t.Helper(); err != nil {
		c.t.Fatal(err)
	}
}

// encode returns the header block of fields, "NAME=VALUE".
func (c *rawClient) encode(fields ...string) []byte {
	c.block.Reset()
	for _, f := range fields {
		at := strings.Index(f[1:], "=") + 1
		c.must(c.encoder.WriteField(hpack.HeaderField{Name: f[:at], Value: f[at+1:]}))
	}
	return c.block.Bytes()
}

// to returns the fields of a request.
func to(method, path string, more ...string) []string {
	return append([]string{":method=" + method, ":scheme=https", ":authority=example.com", ":path=" + path}, more...)
}

// send sends a request, and returns the id of its stream.
func (c *rawClient) send(end bool, fields ...string) uint32 {
	c.t.Helper()
	id := c.next
	c.next += 2
	c.must(c.WriteHeaders(frame.HeadersFrameParam{
		StreamID: id, BlockFragment: c.encode(fields...), EndStream: end, EndHeaders: true,
	}))
	return id
}

// get sends a request without a body.
func (c *rawClient) get(path string, more ...string) uint32 {
	c.t.Helper()
	return c.send(true, to(http.MethodGet, path, more...)...)
}

// of returns what was received on a stream.
func (c *rawClient) of(id uint32) *result {
	if c.streams[id] == nil {
		c.streams[id] = &result{}
	}
	return c.streams[id]
}

// until reads frames until a condition holds.
func (c *rawClient) until(what string, is func() bool) {
	c.t.Helper()
	c.must(c.conn.SetReadDeadline(time.Now().Add(patience)))
	for !is() {
		if c.closed {
			c.t.Fatalf("the connection is closed before %s: GOAWAY %q", what, c.goAway)
		}
		c.read()
	}
}

// read reads a frame.
func (c *rawClient) read() {
	c.t.Helper()
	f, err := c.ReadFrame()
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() || errors.As(err, new(frame.ConnectionError)) ||
			errors.As(err, new(frame.StreamError)) {
			c.t.Fatal(err)
		}
		c.closed = true
		return
	}
	if c.first == 0 {
		c.first = f.Header().Type
	}
	id := f.Header().StreamID
	if id != 0 {
		c.of(id).frames = append(c.of(id).frames, f.Header().Type.String())
	}
	switch f := f.(type) {
	case *frame.MetaHeadersFrame:
		c.of(id).addBlock(f.Fields)
		c.of(id).ended = f.StreamEnded()
	case *frame.DataFrame:
		if c.of(id).over() {
			c.t.Fatalf("data after the end of stream %d", id)
		}
		c.of(id).body.Write(f.Data())
		c.of(id).ended = f.StreamEnded()
		c.order = append(c.order, id)
	case *frame.RSTStreamFrame:
		c.of(id).reset = f.ErrCode.String()
	case *frame.GoAwayFrame:
		c.goAway = fmt.Sprintf("%d %v", f.LastStreamID, f.ErrCode)
	case *frame.WindowUpdateFrame:
		c.updates[id] += f.Increment
	case *frame.PingFrame:
		switch f.Data {
		case mark:
			c.pongs++
		case lastPing:
			c.pinged = true
		}
	case *frame.SettingsFrame:
		if f.IsAck() {
			c.acks++
		}
		_ = f.ForeachSetting(func(s frame.Setting) error {
			c.setting[s.ID] = s.Val
			return nil
		})
	}
}

func (r *result) addBlock(fields []hpack.HeaderField) {
	var block []string
	for _, f := range fields {
		switch f.Name {
		case "date":
			r.dates++
		case ":status":
			block = append(block, f.Value)
		default:
			block = append(block, f.Name+"="+f.Value)
		}
	}
	slices.Sort(block)
	r.blocks = append(r.blocks, strings.Join(block, " "))
}

// result waits for the end of a stream.
func (c *rawClient) result(id uint32) *result {
	c.t.Helper()
	c.until(fmt.Sprintf("the end of stream %d", id), c.of(id).over)
	return c.of(id)
}

// mark is the data of the pings with which a client waits.
var mark = [8]byte{'m', 'a', 'r', 'k'}

// sync waits until the server has processed what was sent.
func (c *rawClient) sync() {
	c.t.Helper()
	c.must(c.WritePing(false, mark))
	want := c.pongs + 1
	c.until("the acknowledgement of a ping", func() bool { return c.pongs == want })
}

// untilClosed waits until the server has closed the connection.
func (c *rawClient) untilClosed() {
	c.t.Helper()
	c.must(c.conn.SetReadDeadline(time.Now().Add(patience)))
	for !c.closed {
		c.read()
	}
}

// violation waits until the server has processed what was sent. If that is GOAWAY with an error, it closes the
// connection (the server reads for a while), and returns the code.
func (c *rawClient) violation() (code string) {
	c.t.Helper()
	_ = c.WritePing(false, mark) // fails if the server has closed the connection
	pongs := c.pongs
	c.until("GOAWAY", func() bool {
		_, code, _ = strings.Cut(c.goAway, " ")
		return code != "" && code != "NO_ERROR" || c.pongs > pongs
	})
	if code == "NO_ERROR" {
		return ""
	}
	if code != "" {
		c.conn.Close()
	}
	return code
}

// echo writes what the body has.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// hello writes a short response.
func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// gate is a connection whose writes can be held.
type gate struct {
	net.Conn
	writes atomic.Int64
	held   atomic.Pointer[chan struct{}] // closed to release the writes; nil if they are not held
	waits  chan struct{}                 // receives when a write is held
	once   sync.Once
	closed chan struct{}
}

func newGate(c net.Conn) *gate {
	return &gate{Conn: c, waits: make(chan struct{}, 100), closed: make(chan struct{})}
}

// hold holds all further writes until release.
func (g *gate) hold() (release func()) {
	held := make(chan struct{})
	g.held.Store(&held)
	return sync.OnceFunc(func() { g.held.Store(nil); close(held) })
}

// Write implements net.Conn.
func (g *gate) Write(p []byte) (int, error) {
	g.writes.Add(1)
	if held := g.held.Load(); held != nil {
		g.waits <- struct{}{}
		select {
		case <-*held:
		case <-g.closed:
			return 0, net.ErrClosed
		}
	}
	return g.Conn.Write(p)
}

// Close implements net.Conn.
func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Conn.Close()
}

// gated makes the connections of a site gates, which gates receives.
func gated(gates chan *gate) func(*site) {
	return func(s *site) {
		s.wrap = func(c net.Conn) net.Conn {
			g := newGate(c)
			gates <- g
			return g
		}
	}
}

// atMost tests that n does not exceed a limit.
func atMost[T cmp.Ordered](t testing.TB, n, limit T, what string) {
	if t.Helper(); n > limit {
		t.Errorf("%s: %v, more than %v", what, n, limit)
	}
}
