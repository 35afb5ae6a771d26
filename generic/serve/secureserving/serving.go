package secureserving

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/klog/v2"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/http2"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/internal/platform"
	"triplane.dev/internal/worker"
)

// SecureServing is the TLS listener of the outermost server.
type SecureServing struct {
	// Listener accepts the connections; Listen creates one.
	Listener net.Listener
	// Certificates are served by server name; see NewCertificates.
	Certificates *Certificates
	// ClientCAs are sent to clients as the accepted issuers of client certificates; nil sends none. Client
	// certificates are requested, but not required: authentication verifies them.
	ClientCAs *x509.CertPool
	// CurrentClientCAs, if set, replaces ClientCAs; it is called at each handshake.
	CurrentClientCAs func() *x509.CertPool

	ServingOptions

	// StalledLimit is how long a client may leave a full connection unread; 0 means filters.StalledLimit.
	StalledLimit time.Duration
}

// ServingOptions are the settings of TLS and HTTP/2.
type ServingOptions struct {
	MinTLSVersion    uint16        // --tls-min-version; 0 means TLS 1.2
	CipherSuites     []uint16      // --tls-cipher-suites, of TLS 1.2; none means Go's choice
	CurvePreferences []tls.CurveID // --tls-curve-preferences; none means Go's choice

	// DisableHTTP2 (--disable-http2-serving) serves only HTTP/1.1.
	DisableHTTP2 bool
	// HTTP2MaxStreamsPerConnection (--http2-max-streams-per-connection) bounds the concurrent requests of a
	// connection; 0 means 100.
	HTTP2MaxStreamsPerConnection int
}

const (
	// defaultMaxStreams is the minimum that RFC 9113 recommends. It bounds the resources of a connection; clients
	// with more requests open another one.
	defaultMaxStreams = 100
	// maxFrame is the HTTP/2 frame size; most objects fit into one frame.
	maxFrame = 128 * 1024
	// readHeaderTimeout bounds the time to receive the header of a request.
	readHeaderTimeout = 32 * time.Second
	// idleTimeout is the time after which idle connections are closed.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 1 << 20
)

// Address returns the address of the listener as host:port; "" without one.
func (s *SecureServing) Address() string {
	if s == nil || s.Listener == nil {
		return ""
	}
	return s.Listener.Addr().String()
}

// Port returns the port of the listener; 0 without one.
func (s *SecureServing) Port() int {
	if s == nil || s.Listener == nil {
		return 0
	}
	if a, ok := s.Listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// Server is a running listener. Its methods are safe for concurrent use.
type Server struct {
	server   *http.Server
	listener net.Listener
	done     chan struct{}
	http1    http1
}

// Serve accepts connections until shutdown, and calls fail if the listener breaks. Clients must read responses
// within limit; handlers of long-running requests disable the limit.
func (s *SecureServing) Serve(
	h http.Handler, m *requestmetrics.Metrics, limit time.Duration, fail func(error),
) (*Server, error) {
	if s.Listener == nil || s.Certificates == nil {
		return nil, errors.New("secure serving needs a listener and certificates")
	}
	run := &Server{
		server: &http.Server{
			ReadHeaderTimeout: readHeaderTimeout,
			WriteTimeout:      limit,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			TLSConfig:         s.tlsConfig(),
			ErrorLog:          log.New(quietLog{m.Requests}, "", 0),
		},
		done: make(chan struct{}),
	}
	run.http1.follow(run.server, h)
	if !s.DisableHTTP2 {
		if err := http2.CheckCiphers(s.CipherSuites); s.MinTLSVersion < tls.VersionTLS13 && err != nil {
			return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
		}
		h2 := s.http2(limit, m.Stalls)
		run.server.RegisterOnShutdown(h2.Leave)
		run.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
			http2.Protocol: func(_ *http.Server, c *tls.Conn, h http.Handler) { run.http1.serveHTTP2(h2, c, h) },
		}
	}
	run.listener = tls.NewListener(reserveDescriptors(keepAlive{s.Listener}), run.server.TLSConfig)
	worker.Go(func() {
		defer close(run.done)
		if err := run.server.Serve(run.listener); err != nil && !errors.Is(err, http.ErrServerClosed) &&
			!errors.Is(err, net.ErrClosed) {
			fail(fmt.Errorf("serving on %s: %w", s.Address(), err))
		}
	})
	return run, nil
}

func (s *SecureServing) tlsConfig() *tls.Config {
	c := &tls.Config{
		MinVersion:       max(s.MinTLSVersion, tls.VersionTLS12),
		CipherSuites:     s.CipherSuites,
		CurvePreferences: s.CurvePreferences,
		ClientAuth:       tls.RequestClientCert,
		ClientCAs:        s.ClientCAs,
		GetCertificate:   s.Certificates.get,
		NextProtos:       []string{"h2", "http/1.1"},
		// Small records at the start of a connection help browsers on slow networks. Here they cost a client's
		// first list a hundred more system calls.
		DynamicRecordSizingDisabled: true,
	}
	if s.MinTLSVersion != 0 {
		c.MinVersion = s.MinTLSVersion
	}
	if s.DisableHTTP2 {
		c.NextProtos = []string{"http/1.1"}
	}
	if s.CurrentClientCAs != nil {
		followClientCAs(c, s.CurrentClientCAs)
	}
	return c
}

func (s *SecureServing) http2(limit time.Duration, m *requestmetrics.Stalls) *http2.Server {
	streams := s.HTTP2MaxStreamsPerConnection
	if streams <= 0 {
		streams = defaultMaxStreams
	}
	return &http2.Server{
		MaxStreams:     streams,
		MaxFrame:       maxFrame,
		MaxHeaderBytes: maxHeaderBytes,
		// Windows for request bodies: most bodies are smaller than a frame, and a connection carries a few at a
		// time.
		StreamWindow:     256 * 1024,
		ConnectionWindow: 2 * 1024 * 1024,
		HandshakeTimeout: readHeaderTimeout,
		IdleTimeout:      idleTimeout,
		WriteTimeout:     limit,
		StalledLimit:     cmp.Or(s.StalledLimit, filters.StalledLimit),
		Stalled:          func() { m.Ended("connection") },
	}
}

// Shutdown closes the listener, stops further requests on open connections, waits for open requests until ctx is
// done, then closes the remaining connections.
func (h *Server) Shutdown(ctx context.Context) {
	_ = h.listener.Close() // fails only if it is closed already
	<-h.done               // now all accepted connections are known
	h.http1.leave(ctx)
	if err := h.server.Shutdown(ctx); err != nil {
		klog.InfoS("Closed connections with requests in flight at shutdown", "err", err)
		_ = h.server.Close() // the listener is closed already
	}
}

// connectionsShare is the fraction of the file descriptors that client connections may use.
const connectionsShare = 0.75

// reserveDescriptors makes a listener stop accepting connections while the open ones use their share of the
// process's file descriptors. The rest is for storage, whose log needs new files, and for outgoing connections.
// Every client that reaches the server can open connections.
func reserveDescriptors(l net.Listener) net.Listener {
	limit, ok := platform.FileLimit()
	if !ok {
		return l
	}
	return netutil.LimitListener(l, max(1, int(float64(limit)*connectionsShare)))
}

// Listen opens a TCP listener; with port 0 the kernel chooses the port. sharePort and shareAddress are those of
// platform.ReusePort.
func Listen(ctx context.Context, address string, sharePort, shareAddress bool) (net.Listener, error) {
	lc := net.ListenConfig{Control: platform.ReusePort(sharePort, shareAddress)}
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// keepAlive enables TCP keep-alives, so that dead peers are detected within minutes.
type keepAlive struct{ net.Listener }

// Accept implements net.Listener.
func (l keepAlive) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tc, ok := c.(*net.TCPConn); ok && err == nil {
		_ = tc.SetKeepAlivePeriod(3 * time.Minute)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// quietLog receives the log of net/http. Failed handshakes are logged at a high verbosity only, because load
// balancers probe with bare connections.
type quietLog struct{ metrics *requestmetrics.Requests }

// Write implements io.Writer.
func (l quietLog) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.Contains(text, "TLS handshake error") {
		l.metrics.HandshakeFailed()
		klog.V(5).InfoS(text)
	} else {
		klog.V(1).InfoS(text)
	}
	return len(p), nil
}
