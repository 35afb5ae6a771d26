package serviceaccount

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	jose "github.com/go-jose/go-jose/v4"
)

// PublicKey is a key that verifies tokens.
type PublicKey struct {
	ID  string
	Key crypto.PublicKey
	// Unpublished keys verify tokens but are not in the discovery documents.
	Unpublished bool
}

// NewPublicKey parses an RSA or ECDSA key in PKIX form.
func NewPublicKey(id string, der []byte) (PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, err
	}
	_, err = algorithm(key)
	return PublicKey{ID: id, Key: key}, err
}

// Keys are the public keys that verify tokens.
type Keys interface {
	// Find returns the keys that may have signed a token with this key ID. id is "" for tokens without one.
	Find(ctx context.Context, id string) []PublicKey
	// All returns all current keys.
	All() []PublicKey
	// Generation changes when the keys change. Cached verifications of another generation are invalid.
	Generation() uint64
}

// StaticKeys are keys that never change.
type StaticKeys []PublicKey

// Find implements Keys.
func (k StaticKeys) Find(_ context.Context, id string) []PublicKey {
	if id == "" {
		return k
	}
	for i := range k {
		if k[i].ID == id {
			return k[i : i+1]
		}
	}
	return nil
}

// All implements Keys.
func (k StaticKeys) All() []PublicKey { return k }

// Generation implements Keys.
func (StaticKeys) Generation() uint64 { return 0 }

// ReadPublicKeys reads keys from PEM files. From a private key or certificate it takes the public key.
func ReadPublicKeys(files ...string) ([]PublicKey, error) {
	var keys []PublicKey
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := ParsePublicKeys(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// ParsePublicKeys parses the keys of PEM blocks. It skips blocks of other types.
func ParsePublicKeys(raw []byte) ([]PublicKey, error) {
	var keys []PublicKey
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			break
		}
		key := publicKeyOf(block)
		if key == nil {
			continue
		}
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, PublicKey{ID: id, Key: key})
	}
	if len(keys) == 0 {
		return nil, errors.New("data does not contain any valid RSA or ECDSA public keys")
	}
	return keys, nil
}

func publicKeyOf(block *pem.Block) crypto.PublicKey {
	if k, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		return usable(k)
	}
	if c, err := x509.ParseCertificate(block.Bytes); err == nil {
		return usable(c.PublicKey)
	}
	if k, err := x509.ParsePKCS1PublicKey(block.Bytes); err == nil {
		return k
	}
	if k, err := parsePrivateKey(block); err == nil {
		return usable(k.Public())
	}
	return nil
}

func usable(k crypto.PublicKey) crypto.PublicKey {
	switch k.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey:
		return k
	}
	return nil
}

// ReadPrivateKey reads the signing key from a PEM file.
func ReadPrivateKey(file string) (crypto.Signer, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			return nil, fmt.Errorf("%s: data does not contain a valid RSA or ECDSA private key", file)
		}
		if key, err := parsePrivateKey(block); err == nil {
			return key, nil
		}
	}
}

func parsePrivateKey(block *pem.Block) (crypto.Signer, error) {
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	switch k := k.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, fmt.Errorf("unsupported private key %T", k)
}

// keyID derives the ID of a key from the key, so that all servers use the same ID.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("failed to serialize public key to DER format: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// algorithm returns the signature algorithm of a key.
func algorithm(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	}
	return "", errors.New("unknown private key type, must be *rsa.PrivateKey or *ecdsa.PrivateKey")
}
