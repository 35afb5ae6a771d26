package secureserving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"testing"
	"time"
)

// Whoever supports the key gets the certificate, whatever the name of the server.
func TestFallbackIsForClientsWithoutTheKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	absent := errors.New("no fallback")
	own := &certificate{}
	own.Fallback = func() (*tls.Certificate, error) { return nil, absent }
	own.loaded.Store(&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
	c := &Certificates{files: []*certificate{own}, CheckInterval: time.Hour}
	c.checked.Store(time.Now().UnixNano())
	c.index()
	hello := func(name string, schemes ...tls.SignatureScheme) *tls.ClientHelloInfo {
		versions := []uint16{tls.VersionTLS13}
		return &tls.ClientHelloInfo{ServerName: name, SupportedVersions: versions, SignatureSchemes: schemes}
	}
	for _, name := range []string{"localhost", "other"} {
		got, err := c.get(hello(name, tls.PSSWithSHA256, tls.ECDSAWithP256AndSHA256))
		if got != own.loaded.Load() || err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.get(hello(name, tls.PSSWithSHA256)); !errors.Is(err, absent) {
			t.Errorf("%s, RSA: %v", name, err)
		}
	}
}
