package pki

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// NewClient creates a client certificate of the CA of f, for a user in groups, with its key, in PEM. It writes no
// files.
func NewClient(f Files, name string, groups ...string) (cert, key []byte, err error) {
	authorities, signer, err := readPair(f.CACert, f.CAKey)
	if err != nil {
		return nil, nil, err
	}
	if signer == nil {
		return nil, nil, fmt.Errorf("there is no CA in %s", f.Dir)
	}
	own, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := client(name, groups...)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	signed, err := sign(template, authorities[0], own.Public(), signer, leafLife)
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(own); err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: signed.Raw}), key, nil
}
