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

// proxy is the address of a proxy with its TLS configuration.
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

// load reads the files of the TLS configuration for a proxy at host. The client certificate is read on each
// handshake, which is once per connection.
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

// open connects to the proxy, without TLS.
func (p *proxy) open(ctx context.Context) (net.Conn, error) { return direct(ctx, p.network, p.address) }

// maxResponse limits the proxy's response in bytes.
const maxResponse = 64 << 10

// connect opens a connection through the proxy with HTTP CONNECT (RFC 9110, section 9.3.6).
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
	// ctx limits the handshakes only. After stop it does not affect the connection.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := handshake(conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // err is the cause
		return nil, &dialError{stageProxy, fmt.Errorf("proxy %q: %w", p.address, err)}
	}
	return tunnel, nil
}

// handshake sends the CONNECT request and reads the response. The returned connection begins with bytes of the
// destination that were read with the response.
func handshake(conn net.Conn, address string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxResponse}
	r := bufio.NewReader(limited)
	resp, err := http.ReadResponse(r, req) //nolint:bodyclose // the rest is data of the destination
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
	return &bufferedConn{conn, first}, err
}

// bufferedConn is a connection with bytes that have been read already.
type bufferedConn struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (c *bufferedConn) Read(p []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.first)
	c.first = c.first[n:]
	return n, nil
}
