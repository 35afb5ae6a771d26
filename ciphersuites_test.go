package triplane

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// TestClientsWithRSASuitesConnect starts a server with the generated keys, like make run.
func TestClientsWithRSASuitesConnect(t *testing.T) {
	s := startServerWith(t, testOptions(t.TempDir()))
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CAData) {
		t.Fatal("there is no authority")
	}
	for _, suite := range []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256} {
		c, err := tls.Dial("tcp", s.Address(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		if err != nil {
			t.Errorf("%s: %v", tls.CipherSuiteName(suite), err)
			continue
		}
		c.Close()
	}
}
