package pki

import (
	"crypto"
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
	fallback, err := generated.Serving().Fallback()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := generated.Serving().Fallback(); again != fallback || err != nil {
		t.Errorf("another key is generated, %v", err)
	}
	file := filepath.Join(t.TempDir(), "apiserver.crt")
	if err := EnsureServing(file, file+".key", cfg); err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(file, file+".key")
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !strings.Contains(suite.Name, "_RSA_") || strings.Contains(suite.Name, "RC4") {
			continue
		}
		if err := handshake(t, generated.CACert, *fallback, suite.ID); err != nil {
			t.Errorf("generated, %s: %v", suite.Name, err)
		}
		if err := handshake(t, file, own, suite.ID); err != nil {
			t.Errorf("--cert-dir, %s: %v", suite.Name, err)
		}
	}
}

// TestEarlierServingKeysAreKept starts with a data directory of a release that generated RSA keys.
func TestEarlierServingKeysAreKept(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Names: []string{"localhost"}}
	f, err := Ensure(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := f.rsa.get()
	if err != nil {
		t.Fatal(err)
	}
	if err := writePair(f.ServingCert, f.ServingKey, earlier.Leaf, earlier.PrivateKey.(crypto.Signer)); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(dir, cfg); err != nil {
		t.Fatal(err)
	}
	if !read(t, f.ServingCert).Equal(earlier.Leaf) {
		t.Error("the serving certificate was replaced")
	}
}

// handshake connects a client that offers one cipher suite of TLS 1.2 and trusts the authority in a file.
func handshake(t *testing.T, caFile string, pair tls.Certificate, suite uint16) error {
	t.Helper()
	roots := x509.NewCertPool()
	authority, err := certutil.CertsFromFile(caFile)
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
