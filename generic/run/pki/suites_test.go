package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"strings"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

// TestServingCertificatesSuitClientsOfRSA connects with each cipher suite of TLS 1.2 that needs an RSA key.
func TestServingCertificatesSuitClientsOfRSA(t *testing.T) {
	cfg := Config{Names: []string{"localhost"}}
	generated, err := Ensure(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := Files{CACert: filepath.Join(dir, "apiserver.crt"), ServingCert: filepath.Join(dir, "apiserver.crt"), ServingKey: filepath.Join(dir, "apiserver.key")}
	if err := EnsureServing(own.ServingCert, own.ServingKey, cfg); err != nil {
		t.Fatal(err)
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !strings.Contains(suite.Name, "_RSA_") || strings.Contains(suite.Name, "RC4") {
			continue
		}
		for name, f := range map[string]Files{"generated": generated, "--cert-dir": own} {
			if err := handshake(t, f, suite.ID); err != nil {
				t.Errorf("%s, %s: %v", name, suite.Name, err)
			}
		}
	}
}

// TestEarlierServingKeysAreKept starts with a data directory of a release that generated ECDSA keys.
func TestEarlierServingKeysAreKept(t *testing.T) {
	dir := t.TempDir()
	earlier := Config{Names: []string{"localhost"}, ECDSA: true}
	f, err := Ensure(dir, earlier)
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, f.ServingCert)
	if _, err := Ensure(dir, Config{Names: []string{"localhost"}}); err != nil {
		t.Fatal(err)
	}
	if !read(t, f.ServingCert).Equal(before) {
		t.Error("the serving certificate was replaced")
	}
	if err := handshake(t, f, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256); err != nil {
		t.Error(err)
	}
}

// handshake connects a client that offers one cipher suite of TLS 1.2 and trusts the authority of f.
func handshake(t *testing.T, f Files, suite uint16) error {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.ServingCert, f.ServingKey)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	authority, err := certutil.CertsFromFile(f.CACert)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(authority[0])
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	served := make(chan error, 1)
	go func() {
		served <- tls.Server(far, &tls.Config{Certificates: []tls.Certificate{pair}, CipherSuites: []uint16{suite}}).Handshake()
	}()
	err = tls.Client(near, &tls.Config{ServerName: "localhost", RootCAs: roots, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}).Handshake()
	near.Close()
	if failed := <-served; err == nil {
		err = failed
	}
	return err
}
