package secureserving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whoever supports the key of the files gets their certificate, whatever the name of the server.
func TestFallbackIsForClientsWithoutTheKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := CertificateFiles{CertFile: filepath.Join(t.TempDir(), "a.crt"), KeyFile: filepath.Join(t.TempDir(), "a.key")}
	for name, block := range map[string]*pem.Block{f.CertFile: {Type: "CERTIFICATE", Bytes: der}, f.KeyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	absent := errors.New("no fallback")
	f.Fallback = func() (*tls.Certificate, error) { return nil, absent }
	c, err := NewCertificates(f)
	if err != nil {
		t.Fatal(err)
	}
	hello := func(name string, schemes ...tls.SignatureScheme) *tls.ClientHelloInfo {
		return &tls.ClientHelloInfo{ServerName: name, SupportedVersions: []uint16{tls.VersionTLS13}, SignatureSchemes: schemes}
	}
	for _, name := range []string{"localhost", "other"} {
		if _, err := c.get(hello(name, tls.PSSWithSHA256, tls.ECDSAWithP256AndSHA256)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.get(hello(name, tls.PSSWithSHA256)); !errors.Is(err, absent) {
			t.Errorf("%s, RSA: %v", name, err)
		}
	}
}
