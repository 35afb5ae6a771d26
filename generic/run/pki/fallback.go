package pki

import (
	"crypto/tls"
	"sync"

	"triplane.dev/generic/serve/secureserving"
)

// Serving returns the serving certificate for a server. Clients that do not support its ECDSA key get one with an RSA
// key, which is generated when the first of them connects.
func (f Files) Serving() secureserving.CertificateFiles {
	c := secureserving.CertificateFiles{CertFile: f.ServingCert, KeyFile: f.ServingKey}
	if f.rsa != nil {
		c.Fallback = f.rsa.get
	}
	return c
}

// rsaServing is a serving certificate with an RSA key. It exists only in memory, because generating the key takes about
// 100 ms, which few clients need.
type rsaServing struct {
	by     *authority
	config Config

	mu      sync.Mutex // held while a key is generated
	current *tls.Certificate
}

// get returns the certificate. It is replaced in time.
func (s *rsaServing) get() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && checkExpiry(s.current.Leaf) == nil {
		return s.current, nil
	}
	key, err := newRSAKey()
	if err != nil {
		return nil, err
	}
	cert, err := s.by.issue(serving(s.config), key)
	if err != nil {
		return nil, err
	}
	s.current = &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
	return s.current, nil
}
