package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// proxy is a proxy and how it is reached.
type proxy struct {
	kind             string // "tcp" or "uds", for metrics
	network, address string
	tls              *tls.Config // nil without TLS
}

func newProxy(t *transport) (*proxy, error) {
	if t.UDS != nil {
		return &proxy{kind: "uds", network: "unix", address: t.UDS.UDSName}, nil
	}
	u, err := url.Parse(t.TCP.URL)
	if err != nil {
		return nil, err
	}
	p := &proxy{kind: "tcp", network: "tcp", address: u.Host}
	if t.TCP.TLSConfig != nil {
		if p.tls, err = t.TCP.TLSConfig.load(u.Hostname()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// load reads the files, for a proxy with a name or address. The client certificate is
// read again at each handshake, of which there is one a connection.
func (c *tlsConfig) load(host string) (*tls.Config, error) {
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
		return &cert, err
	}
	_, err := read(nil)
	if err != nil {
		return nil, err
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(c.TLSServerName, host), GetClientCertificate: read}
	if c.CABundle != "" {
		if t.RootCAs, err = certutil.NewPool(c.CABundle); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// open connects to the proxy itself, without TLS.
func (p *proxy) open(ctx context.Context) (net.Conn, error) { return direct(ctx, p.network, p.address) }

// maxAnswer bounds the answer of a proxy, in bytes.
const maxAnswer = 64 << 10

// connect asks the proxy for a connection with HTTP CONNECT (RFC 9110, section 9.3.6).
func (p *proxy) connect(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := p.open(ctx)
	if err != nil {
		return nil, &dialError{stageConnect, fmt.Errorf("dialing proxy %q failed: %w", p.address, err)}
	}
	if p.tls != nil {
		conn = tls.Client(conn, p.tls)
	}
	// The handshakes end with ctx, and ctx does nothing to the connection later.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := handshake(conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // err says why
		return nil, &dialError{stageProxy, fmt.Errorf("proxy %q: %w", p.address, err)}
	}
	return tunnel, nil
}

// handshake has the proxy connect to address. What the destination sends first may
// have arrived with the answer.
func handshake(conn net.Conn, address string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	r := bufio.NewReader(limited)
	resp, err := http.ReadResponse(r, req) //nolint:bodyclose // what follows is the destination's
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("connecting to %s: %s", address, resp.Status)
	}
	if r.Buffered() == 0 {
		return conn, nil
	}
	first, err := r.Peek(r.Buffered())
	return &begunConn{conn, first}, err
}

// begunConn is a connection of which some bytes have been read.
type begunConn struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.first)
	c.first = c.first[n:]
	return n, nil
}
