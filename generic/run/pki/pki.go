package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"triplane/internal/durable"
)

// Files are the paths of what Ensure keeps.
type Files struct {
	Dir string

	CACert, CAKey                             string
	ServingCert, ServingKey                   string
	AdminCert, AdminKey                       string
	ServiceAccountKey, ServiceAccountPub      string
	FrontProxyCACert, FrontProxyCAKey         string
	FrontProxyClientCert, FrontProxyClientKey string
}

// Config is what the certificates are for.
type Config struct {
	Names []string
	IPs   []net.IP
	// FrontProxy is the common name of the front proxy's client certificate.
	FrontProxy string
	// ECDSA generates an ECDSA key for HTTPS instead of RSA, which takes about 100 ms. Clients that accept
	// no cipher suites but those of RSA cannot connect then.
	ECDSA bool
}

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 60 * 24 * time.Hour
	// backdate forgives clocks that are behind.
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

// Ensure makes what is missing or due below dir, which is created if need be.
// Only one process may do so at a time.
func Ensure(dir string, cfg Config) (Files, error) {
	f := In(dir)
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("key directory: %w", err)
	}
	ca, err := ensureAuthority(f.CACert, f.CAKey, "triplane-ca")
	if err != nil {
		return f, err
	}
	front, err := ensureAuthority(f.FrontProxyCACert, f.FrontProxyCAKey, "triplane-front-proxy-ca")
	if err != nil {
		return f, err
	}
	for _, leaf := range []struct {
		by        *authority
		cert, key string
		template  *x509.Certificate
		make      keyMaker
	}{
		{ca, f.ServingCert, f.ServingKey, serving(cfg), cfg.servingKey},
		{ca, f.AdminCert, f.AdminKey, client("triplane-admin", "system:masters"), newKey},
		{front, f.FrontProxyClientCert, f.FrontProxyClientKey, client(cfg.FrontProxy), newKey},
	} {
		if err := leaf.by.ensure(leaf.cert, leaf.key, leaf.template, leaf.make); err != nil {
			return f, err
		}
	}
	return f, ensureServiceAccountKey(f.ServiceAccountKey, f.ServiceAccountPub)
}

// StoreFiles are the paths of what EnsureStore keeps.
type StoreFiles struct{ CACert, caKey, ServerCert, ServerKey, ClientCert, ClientKey string }

// EnsureStore makes what is missing or due below dir for etcd's client API: an authority that is
// nobody else's, since who has a certificate of it may do everything, and one each for the server, with
// the names and addresses of cfg, and for clients.
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
	if err := ca.ensure(f.ServerCert, f.ServerKey, serving(cfg), newKey); err != nil {
		return f, err
	}
	return f, ca.ensure(f.ClientCert, f.ClientKey, client("triplane-etcd-client"), newKey)
}

// PeerFiles are the paths of what EnsurePeer keeps.
type PeerFiles struct{ CACert, Cert, Key string }

// EnsurePeer makes what is missing or due below dir for a member of an etcd cluster: an authority of
// members, and a certificate of it with the names and addresses of cfg, as a server and as a client.
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
	return f, ca.ensure(f.Cert, f.Key, template, newKey)
}

// EnsureServing makes a self-signed serving certificate and its key where neither
// file exists, as for --cert-dir; files that are there stay as they are.
func EnsureServing(certFile, keyFile string, cfg Config) error {
	_, noCert := os.Stat(certFile)
	_, noKey := os.Stat(keyFile)
	switch {
	case noCert == nil && noKey == nil:
		return nil
	case (noCert == nil) != (noKey == nil):
		return fmt.Errorf("there is only one of %s and %s", certFile, keyFile)
	}
	if err := durable.MkdirAll(filepath.Dir(certFile), 0o755); err != nil {
		return fmt.Errorf("certificate directory: %w", err)
	}
	key, err := cfg.servingKey()
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
