package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// authority is a CA that signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// ensureAuthority reads a CA, or creates a new one if it is missing or about to expire. It returns an error for
// unusable files, and never overwrites them.
func ensureAuthority(certFile, keyFile, name string) (*authority, error) {
	certs, key, err := readPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	if key != nil && checkExpiry(certs[0]) == nil {
		return &authority{cert: certs[0], key: key}, nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		DNSNames:              []string{name},
	}
	a := &authority{}
	signer, err := newKey()
	if err != nil {
		return nil, err
	}
	a.key = signer
	a.cert, err = sign(template, template, signer.Public(), signer, authorityLife)
	if err != nil {
		return nil, err
	}
	return a, writePair(certFile, keyFile, a.cert, a.key)
}

// ensure creates a certificate if it is missing, about to expire, not signed by the CA, or does not match the
// template.
func (a *authority) ensure(certFile, keyFile string, template *x509.Certificate) error {
	certs, key, err := readPair(certFile, keyFile)
	if err != nil {
		return err
	}
	if key != nil && checkExpiry(certs[0]) == nil && certs[0].CheckSignatureFrom(a.cert) == nil &&
		covers(certs[0], template) {
		return nil
	}
	signer, err := newKey()
	if err != nil {
		return err
	}
	cert, err := a.issue(template, signer)
	if err != nil {
		return err
	}
	return writePair(certFile, keyFile, cert, signer)
}

// issue signs a certificate for a key.
func (a *authority) issue(template *x509.Certificate, key crypto.Signer) (*x509.Certificate, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	return sign(template, a.cert, key.Public(), a.key, leafLife)
}

// checkExpiry returns an error if a certificate must be replaced.
func checkExpiry(c *x509.Certificate) error {
	if left := time.Until(c.NotAfter); left < renewBefore {
		return fmt.Errorf("certificate %q expires in %v", c.Subject.CommonName, left)
	}
	return nil
}

// covers reports whether a certificate contains all wanted names, addresses and groups.
func covers(have, want *x509.Certificate) bool {
	for _, n := range want.DNSNames {
		if !slices.Contains(have.DNSNames, n) {
			return false
		}
	}
	for _, ip := range want.IPAddresses {
		if !slices.ContainsFunc(have.IPAddresses, func(h net.IP) bool { return h.Equal(ip) }) {
			return false
		}
	}
	return have.Subject.CommonName == want.Subject.CommonName &&
		slices.Equal(have.Subject.Organization, want.Subject.Organization)
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// rsaBits is the key size of kube-apiserver's generated keys.
const rsaBits = 2048

func newRSAKey() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, rsaBits) }

func sign(
	template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer, life time.Duration,
) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = now.Add(-backdate).UTC(), now.Add(life).UTC()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
