package kubelet

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"triplane.dev/generic/serve/secureserving"
)

// idleConns is how many connections without a request are kept to a kubelet.
const idleConns = 4

// transports are a Client's transports as long as the client certificate does not change.
type transports struct {
	certificate        *tls.Certificate // nil without one
	verified, insecure *http.Transport
}

// current returns the transports for the client certificate of the files. After a change of the certificate it
// replaces the transports, so that further requests open connections with the new certificate. Requests in flight
// complete, and their connections close then.
func (c *Client) current() *transports {
	if now := c.transports.Load(); now.certificate == c.certificate() {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The certificate above may be older than the one of the transports by now.
	now, certificate := c.transports.Load(), c.certificate()
	if now.certificate == certificate {
		return now
	}
	next := &transports{certificate, now.verified.Clone(), now.insecure.Clone()}
	c.transports.Store(next)
	now.verified.CloseIdleConnections()
	now.insecure.CloseIdleConnections()
	return next
}

// certificate returns the client certificate, nil without one.
func (c *Client) certificate() *tls.Certificate {
	if c.certificates == nil {
		return nil
	}
	certificate, _ := c.certificates.Default() // has no errors after NewCertificates
	return certificate
}

// connect makes the first transports.
func (c *Client) connect() error {
	show := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	if c.config.CertFile != "" {
		files := secureserving.CertificateFiles{CertFile: c.config.CertFile, KeyFile: c.config.KeyFile}
		var err error
		if c.certificates, err = secureserving.NewCertificates(files); err != nil {
			return fmt.Errorf("--kubelet-client-certificate: %w", err)
		}
		show.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return c.certificates.Default()
		}
	}
	verify := show.Clone()
	if c.config.CAFile != "" {
		roots, err := certutil.NewPool(c.config.CAFile)
		if err != nil {
			return fmt.Errorf("--kubelet-certificate-authority: %w", err)
		}
		verify.RootCAs, verify.InsecureSkipVerify = roots, false
	}
	c.transports.Store(&transports{c.certificate(), c.config.transport(verify), c.config.transport(show)})
	return nil
}

// transport speaks HTTP/1.1 alone: connections are upgraded.
func (c Config) transport(t *tls.Config) *http.Transport {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: c.Timeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		DialContext:         dial,
		TLSClientConfig:     t,
		TLSHandshakeTimeout: c.Timeout,
		MaxIdleConnsPerHost: idleConns,
		IdleConnTimeout:     90 * time.Second,
	}
}
