package secureserving

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// CertificateFiles names the PEM files of a certificate chain and its key. Names are the server names (SNI) that
// it serves, including wildcards such as "*.example.com"; empty means those in the certificate.
type CertificateFiles struct {
	CertFile, KeyFile string
	Names             []string
	// Fallback, if set, returns the certificate for clients that do not support the one of the files, for example its
	// kind of key. It is called concurrently.
	Fallback func() (*tls.Certificate, error)
}

// Certificates serves the server's certificates by the server name (SNI) of the client. It checks the files for
// changes at most once per CheckInterval, during handshakes, and reloads them if they changed. If files cannot be
// read, it keeps the previous certificate.
type Certificates struct {
	// CheckInterval is a second; it must be set before the first handshake.
	CheckInterval time.Duration

	files   []*certificate // the first is the default
	checked atomic.Int64   // Unix nanoseconds
	mu      sync.Mutex     // held during a check
	names   atomic.Pointer[map[string]*certificate]
}

type certificate struct {
	CertificateFiles
	loaded atomic.Pointer[tls.Certificate]
	stamp  [2]fileStamp
}

type fileStamp struct {
	modified time.Time
	size     int64
}

// NewCertificates reads the default certificate and those for server names. It returns an error if one of them is
// invalid.
func NewCertificates(def CertificateFiles, sni ...CertificateFiles) (*Certificates, error) {
	c := &Certificates{CheckInterval: time.Second}
	for _, f := range append([]CertificateFiles{def}, sni...) {
		cert := &certificate{CertificateFiles: f}
		if _, err := cert.load(); err != nil {
			return nil, err
		}
		c.files = append(c.files, cert)
	}
	c.index()
	c.checked.Store(time.Now().UnixNano())
	return c, nil
}

// load reads the files if they have changed since the last call.
func (c *certificate) load() (changed bool, err error) {
	var stamp [2]fileStamp
	for i, name := range []string{c.CertFile, c.KeyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return false, fmt.Errorf("certificate: %w", err)
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	if c.loaded.Load() != nil && stamp == c.stamp {
		return false, nil
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return false, fmt.Errorf("certificate %s with key %s: %w", c.CertFile, c.KeyFile, err)
	}
	if cert.Leaf == nil {
		if cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
			return false, fmt.Errorf("certificate %s: %w", c.CertFile, err)
		}
	}
	c.stamp = stamp
	c.loaded.Store(&cert)
	return true, nil
}

// index maps server names to certificates; earlier certificates take precedence.
func (c *Certificates) index() {
	names := map[string]*certificate{}
	for i, cert := range c.files {
		for _, n := range cert.names(i == 0) {
			if n = strings.ToLower(n); names[n] == nil {
				names[n] = cert
			}
		}
	}
	c.names.Store(&names)
}

// names returns the server names of a certificate. The default certificate needs none: it serves all other names.
func (c *certificate) names(def bool) []string {
	if len(c.Names) > 0 || def {
		return c.Names
	}
	leaf := c.loaded.Load().Leaf
	names := append([]string(nil), leaf.DNSNames...)
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 && leaf.Subject.CommonName != "" {
		names = append(names, leaf.Subject.CommonName)
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// get implements tls.Config.GetCertificate.
func (c *Certificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.refresh()
	names := *c.names.Load()
	if len(names) > 0 {
		name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
		if name == "" && hello.Conn != nil {
			name = hostOf(hello.Conn.LocalAddr().String())
		}
		if cert := names[name]; cert != nil {
			return cert.suiting(hello)
		}
		if _, domain, ok := strings.Cut(name, "."); ok {
			if cert := names["*."+domain]; cert != nil {
				return cert.suiting(hello)
			}
		}
	}
	return c.files[0].suiting(hello)
}

// suiting returns the certificate, or the one for clients that do not support it.
func (c *certificate) suiting(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	loaded := c.loaded.Load()
	if c.Fallback == nil {
		return loaded, nil
	}
	anyName := *hello // the client decides what it thinks of the names
	anyName.ServerName = ""
	if anyName.SupportsCertificate(loaded) == nil {
		return loaded, nil
	}
	return c.Fallback()
}

// Default returns the current default certificate, for use as a client certificate.
func (c *Certificates) Default() (*tls.Certificate, error) {
	c.refresh()
	return c.files[0].loaded.Load(), nil
}

// refresh reloads changed files, if the last check was more than CheckInterval ago.
func (c *Certificates) refresh() {
	if time.Since(time.Unix(0, c.checked.Load())) < c.CheckInterval || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	c.checked.Store(time.Now().UnixNano())
	reindex := false
	for _, cert := range c.files {
		changed, err := cert.load()
		if err != nil {
			klog.ErrorS(err, "Failed to reload serving certificate, keeping the previous one")
			continue
		}
		reindex = reindex || changed
		if changed {
			klog.InfoS("Reloaded serving certificate", "file", cert.CertFile)
		}
	}
	if reindex {
		c.index()
	}
}

func hostOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		address = address[:i]
	}
	return strings.Trim(address, "[]")
}
