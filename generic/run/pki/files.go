package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"triplane.dev/internal/durable"
	"triplane.dev/internal/private"
)

// readPair returns certificates and key. It returns nothing if one of the files does not exist, and an error if
// they are unusable.
func readPair(certFile, keyFile string) ([]*x509.Certificate, crypto.Signer, error) {
	certPEM, err := readIfExists(certFile)
	if certPEM == nil {
		return nil, nil, err
	}
	keyPEM, err := readKey(keyFile)
	if keyPEM == nil {
		return nil, nil, err
	}
	certs, err := certutil.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be used, remove it to generate a new one: %w", certFile, err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be used, remove it to generate a new one: %w", keyFile, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("%s contains no signing key", keyFile)
	}
	return certs, signer, nil
}

// readKey is like readIfExists, but returns an error if other users can read the file.
func readKey(name string) ([]byte, error) {
	if err := private.Key(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return readIfExists(name)
}

func readIfExists(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// writePair writes the key first, because a certificate without its key is useless.
func writePair(certFile, keyFile string, cert *x509.Certificate, key crypto.Signer) error {
	if err := writeKey(keyFile, key); err != nil {
		return err
	}
	return durable.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType,
		Bytes: cert.Raw}), 0o644)
}

func writeKey(name string, key crypto.Signer) error {
	b, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return durable.WriteFile(name, b, 0o600)
}

// ensureServiceAccountKey creates the key that signs tokens, if it is missing, and its public key for
// verification.
func ensureServiceAccountKey(keyFile, pubFile string) error {
	b, err := readKey(keyFile)
	if err != nil {
		return err
	}
	var signer crypto.Signer
	if b != nil {
		key, err := keyutil.ParsePrivateKeyPEM(b)
		if err != nil {
			return fmt.Errorf("%s cannot be used, remove it to generate a new one (which invalidates tokens of "+
				"service accounts): %w", keyFile, err)
		}
		signer, _ = key.(crypto.Signer)
	}
	if signer == nil {
		k, err := newKey()
		if err != nil {
			return err
		}
		if err := writeKey(keyFile, k); err != nil {
			return err
		}
		signer = k
	} else if _, err := os.Stat(pubFile); err == nil {
		return nil
	}
	der, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return err
	}
	return durable.WriteFile(pubFile, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}
