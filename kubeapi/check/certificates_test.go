package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// requestOf is a request in PEM.
func requestOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func TestCertificateRequest(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := requestOf(t, key)
	if r, err := CertificateRequest(good); err != nil || r.PublicKeyAlgorithm != x509.ECDSA {
		t.Errorf("%v %v", r, err)
	}
	block, _ := pem.Decode(good)
	block.Bytes[len(block.Bytes)-1] ^= 1
	for name, text := range map[string][]byte{
		"none": nil, "no request": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}), "a forged one": pem.EncodeToMemory(block),
	} {
		if _, err := CertificateRequest(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestKeysThatNobodyCanComputeWith(t *testing.T) {
	text, begun := requestOfHugeKey(t), time.Now()
	if _, err := CertificateRequest(text); err == nil || err.Error() != "RSA keys must have at most 16384 bits" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second { // its signature takes minutes
		t.Errorf("refusing it takes %v", took)
	}
}

// requestOfHugeKey is well-formed; its signature is nonsense.
func requestOfHugeKey(t *testing.T) []byte {
	t.Helper()
	n := make([]byte, 128<<10)
	n[0], n[len(n)-1] = 1<<7, 1
	key, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		Version    int
		Subject    asn1.RawValue
		Key        asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		info{Subject: asn1.RawValue{FullBytes: []byte{0x30, 0}}, Key: asn1.RawValue{FullBytes: key}},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue}, // SHA256 with RSA
		asn1.BitString{Bytes: n, BitLength: 8 * len(n)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
