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

// PublicKey is a key that tokens may be signed with.
type PublicKey struct {
	ID  string
	Key crypto.PublicKey
	// Unpublished keys verify tokens and are not in discovery.
	Unpublished bool
}

// NewPublicKey reads a key in PKIX form, which must be an RSA or ECDSA key.
func NewPublicKey(id string, der []byte) (PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, err
	}
	_, err = algorithm(key)
	return PublicKey{ID: id, Key: key}, err
}

// Keys are the keys that tokens may be signed with.
type Keys interface {
	// Find returns those that a token may be signed with which names a key id, ""
	// for none.
	Find(ctx context.Context, id string) []PublicKey
	// All returns all keys that are known now.
	All() []PublicKey
	// Generation changes when keys do: what was verified with the keys of another
	// generation has to be verified again.
	Generation() uint64
}

// StaticKeys do not change.
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

// ReadPublicKeys reads the public keys of PEM files; private keys count for
// their public halves, certificates for the keys they certify.
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

// ParsePublicKeys reads the keys of PEM blocks; others are skipped.
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

// ReadPrivateKey reads the signing key of a PEM file.
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

// keyID derives a key's name from the key, so that all servers agree on it.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("failed to serialize public key to DER format: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// algorithm is how a key signs.
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
