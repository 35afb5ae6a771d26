package http2

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	frame "golang.org/x/net/http2"
)

// Protocol is the name of HTTP/2 over TLS in the handshake (ALPN).
const Protocol = frame.NextProtoTLS

// Server has the settings of connections. Its methods are safe for concurrent use; the fields must not change after
// the first Serve.
type Server struct {
	// MaxStreams bounds the concurrent requests of a connection.
	MaxStreams int
	// MaxFrame bounds the payload of the frames that clients send, in bytes.
	MaxFrame uint32
	// StreamWindow and ConnectionWindow are how many bytes of bodies clients may send before a handler reads them, at
	// least 65535.
	StreamWindow, ConnectionWindow int32
	// MaxHeaderBytes bounds the header of a request, as defined for SETTINGS_MAX_HEADER_LIST_SIZE. Larger ones are
	// answered with 431.
	MaxHeaderBytes int
	// HandshakeTimeout bounds the time until the client's first settings have arrived.
	HandshakeTimeout time.Duration
	// IdleTimeout is the time without requests after which a connection is closed.
	IdleTimeout time.Duration
	// WriteTimeout bounds the time from the header of a request until its response is written; 0 means no limit. It is
	// checked by writes. Handlers change it with http.ResponseController.
	WriteTimeout time.Duration
	// StalledLimit is how long a client may read nothing of what is waiting for it.
	StalledLimit time.Duration
	// Stalled is called before a connection is closed for StalledLimit.
	Stalled func()

	mu      sync.Mutex
	open    map[*Connection]struct{}
	leaving bool
}

// Serve serves a connection whose handshake has negotiated Protocol. It returns when the connection is closed and its
// handlers have returned. Each request is served by h in a goroutine; its context is derived from withConnection's.
func (s *Server) Serve(c *tls.Conn, h http.Handler, withConnection func(*Connection) context.Context) {
	state := c.ConnectionState()
	o := &Connection{
		server: s, handler: h, conn: c, streams: map[uint32]*stream{},
		received: credit{limit: s.ConnectionWindow, window: s.ConnectionWindow},
	}
	o.all.L = &o.mu
	o.spare = make(chan *stream, 1)
	o.base = withConnection(o)
	o.template = &http.Request{
		Proto: "HTTP/2.0", ProtoMajor: 2, TLS: &state, RemoteAddr: c.RemoteAddr().String(), Body: http.NoBody,
	}
	o.out.init()
	o.stall.c = o
	o.in.framer = frame.NewFramer(nil, c)
	o.in.framer.SetMaxReadFrameSize(s.MaxFrame)
	o.in.framer.SetReuseFrames()
	o.in.block.init(s.MaxHeaderBytes)
	_ = c.SetWriteDeadline(time.Time{}) // resets net/http's deadline of the handshake
	_ = c.SetReadDeadline(time.Now().Add(s.HandshakeTimeout))
	o.begin()
	if !s.add(o) {
		o.leave()
	}
	defer s.remove(o)
	o.serve()
}

// settings are sent at the start of a connection.
func (s *Server) settings() []frame.Setting {
	return []frame.Setting{
		{ID: frame.SettingMaxFrameSize, Val: s.MaxFrame},
		{ID: frame.SettingMaxConcurrentStreams, Val: uint32(s.MaxStreams)},
		{ID: frame.SettingMaxHeaderListSize, Val: uint32(s.MaxHeaderBytes)},
		{ID: frame.SettingHeaderTableSize, Val: tableSize},
		{ID: frame.SettingInitialWindowSize, Val: uint32(s.StreamWindow)},
	}
}

// add reports whether connections still serve requests.
func (s *Server) add(c *Connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*Connection]struct{}{}
	}
	s.open[c] = struct{}{}
	return !s.leaving
}

func (s *Server) remove(c *Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Leave makes the clients of all connections send further requests over other ones (GOAWAY). Connections are closed
// when their requests have ended.
func (s *Server) Leave() {
	s.mu.Lock()
	s.leaving = true
	open := make([]*Connection, 0, len(s.open))
	for c := range s.open {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		c.leave()
	}
}

// ciphers are those of TLS 1.2 that HTTP/2 permits (RFC 9113, appendix A), as far as Go has them. A server must support
// one of the first two.
var ciphers = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// permits reports whether HTTP/2 permits the cipher of a connection.
func permits(c *tls.ConnectionState) bool {
	return c.Version >= tls.VersionTLS13 || c.Version == tls.VersionTLS12 && slices.Contains(ciphers, c.CipherSuite)
}

// CheckCiphers returns an error if a server with these ciphers of TLS 1.2 cannot serve all clients of HTTP/2. Without
// any, Go's choice suffices.
func CheckCiphers(suites []uint16) error {
	if len(suites) > 0 && !slices.Contains(suites, ciphers[0]) && !slices.Contains(suites, ciphers[1]) {
		return fmt.Errorf("HTTP/2 needs one of the cipher suites %s and %s",
			tls.CipherSuiteName(ciphers[0]), tls.CipherSuiteName(ciphers[1]))
	}
	return nil
}

// tableSize is the size of the HPACK table of each direction.
const tableSize = 4096
