package check

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// MaxRSABits bounds the RSA keys of clients that are computed with: the time grows with the square of their
// length and more, and one of 128 KiB takes a minute.
const MaxRSABits = 16384

// ParseCertificateRequest reads a PKCS#10 request in PEM, whoever made it.
func ParseCertificateRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// CertificateRequest reads a PKCS#10 request in PEM that proves to come from who has the private key.
func CertificateRequest(text []byte) (*x509.CertificateRequest, error) {
	r, err := ParseCertificateRequest(text)
	if err != nil {
		return nil, err
	}
	if key, ok := r.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > MaxRSABits {
		return nil, fmt.Errorf("RSA keys must have at most %d bits", MaxRSABits)
	}
	return r, r.CheckSignature()
}
