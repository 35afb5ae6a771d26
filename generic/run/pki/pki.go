package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"triplane.dev/internal/durable"
)

// Files are the paths of the files that Ensure generates.
type Files struct {
	Dir string

	CACert, CAKey                             string
	ServingCert, ServingKey                   string
	AdminCert, AdminKey                       string
	ServiceAccountKey, ServiceAccountPub      string
	FrontProxyCACert, FrontProxyCAKey         string
	FrontProxyClientCert, FrontProxyClientKey string

	rsa *rsaServing
}

// Config has the names and addresses of the serving certificate.
type Config struct {
	Names []string
	IPs   []net.IP
	// FrontProxy is the common name of the front proxy's client certificate.
	FrontProxy string
}

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// renewBefore is how long before its expiry a certificate is replaced.
	renewBefore = 60 * 24 * time.Hour
	// backdate tolerates clocks that are slow.
	backdate = 5 * time.Minute
)

// In returns the paths below a directory.
func In(dir string) Files {
	p := func(name string) string { return filepath.Join(dir, name) }
	return Files{
		Dir:    dir,
		CACert: p("ca.crt"), CAKey: p("ca.key"),
		ServingCert: p("apiserver.crt"), ServingKey: p("apiserver.key"),
		AdminCert: p("admin.crt"), AdminKey: p("admin.key"),
		ServiceAccountKey: p("sa.key"), ServiceAccountPub: p("sa.pub"),
		FrontProxyCACert: p("front-proxy-ca.crt"), FrontProxyCAKey: p("front-proxy-ca.key"),
		FrontProxyClientCert: p("front-proxy-client.crt"), FrontProxyClientKey: p("front-proxy-client.key"),
	}
}

// Ensure creates missing and expiring files below dir, and dir itself. Calls for the same directory must not
// overlap, in any process.
func Ensure(dir string, cfg Config) (Files, error) {
	f := In(dir)
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("key directory: %w", err)
	}
	ca, err := ensureAuthority(f.CACert, f.CAKey, "triplane-ca")
	if err != nil {
		return f, err
	}
	f.rsa = &rsaServing{by: ca, config: cfg}
	front, err := ensureAuthority(f.FrontProxyCACert, f.FrontProxyCAKey, "triplane-front-proxy-ca")
	if err != nil {
		return f, err
	}
	for _, leaf := range []struct {
		by        *authority
		cert, key string
		template  *x509.Certificate
	}{
		{ca, f.ServingCert, f.ServingKey, serving(cfg)},
		{ca, f.AdminCert, f.AdminKey, client("triplane-admin", "system:masters")},
		{front, f.FrontProxyClientCert, f.FrontProxyClientKey, client(cfg.FrontProxy)},
	} {
		if err := leaf.by.ensure(leaf.cert, leaf.key, leaf.template); err != nil {
			return f, err
		}
	}
	return f, ensureServiceAccountKey(f.ServiceAccountKey, f.ServiceAccountPub)
}

// StoreFiles are the paths of the files that EnsureStore generates.
type StoreFiles struct{ CACert, caKey, ServerCert, ServerKey, ClientCert, ClientKey string }

// EnsureStore creates missing and expiring files below dir for etcd's client API: a dedicated CA, because its
// certificates grant full access, a server certificate with the names and addresses of cfg, and a client
// certificate.
func EnsureStore(dir string, cfg Config) (StoreFiles, error) {
	p := func(name string) string { return filepath.Join(dir, name) }
	f := StoreFiles{p("ca.crt"), p("ca.key"), p("server.crt"), p("server.key"), p("client.crt"), p("client.key")}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("key directory: %w", err)
	}
	ca, err := ensureAuthority(f.CACert, f.caKey, "triplane-etcd-ca")
	if err != nil {
		return f, err
	}
	if err := ca.ensure(f.ServerCert, f.ServerKey, serving(cfg)); err != nil {
		return f, err
	}
	return f, ca.ensure(f.ClientCert, f.ClientKey, client("triplane-etcd-client"))
}

// PeerFiles are the paths of the files that EnsurePeer generates.
type PeerFiles struct{ CACert, Cert, Key string }

// EnsurePeer creates missing and expiring files below dir for a member of an etcd cluster: a CA of members, and a
// certificate with the names and addresses of cfg for servers and clients.
func EnsurePeer(dir string, cfg Config) (PeerFiles, error) {
	p := func(name string) string { return filepath.Join(dir, name) }
	f := PeerFiles{p("peer-ca.crt"), p("peer.crt"), p("peer.key")}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("key directory: %w", err)
	}
	ca, err := ensureAuthority(f.CACert, p("peer-ca.key"), "triplane-etcd-peer-ca")
	if err != nil {
		return f, err
	}
	template := serving(cfg)
	template.Subject.CommonName = "triplane-etcd-peer"
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return f, ca.ensure(f.Cert, f.Key, template)
}

// EnsureServing creates a self-signed serving certificate and its key if neither file exists (--cert-dir). It
// never changes existing files. Clients trust this certificate alone, so that its key is RSA, which all support.
func EnsureServing(certFile, keyFile string, cfg Config) error {
	_, noCert := os.Stat(certFile)
	_, noKey := os.Stat(keyFile)
	switch {
	case noCert == nil && noKey == nil:
		return nil
	case (noCert == nil) != (noKey == nil):
		return fmt.Errorf("only one of %s and %s exists", certFile, keyFile)
	}
	if err := durable.MkdirAll(filepath.Dir(certFile), 0o755); err != nil {
		return fmt.Errorf("certificate directory: %w", err)
	}
	key, err := newRSAKey()
	if err != nil {
		return err
	}
	template := serving(cfg)
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	cert, err := sign(template, template, key.Public(), key, leafLife)
	if err != nil {
		return err
	}
	return writePair(certFile, keyFile, cert, key)
}

func serving(cfg Config) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "triplane"},
		DNSNames:    cfg.Names,
		IPAddresses: cfg.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}
