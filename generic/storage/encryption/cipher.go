package encryption

import (
	"bytes"
	"crypto/aes"
	stdcipher "crypto/cipher"
	"crypto/rand"
	"errors"

	"golang.org/x/crypto/nacl/secretbox"
)

// cipher encrypts values with one key. If the scheme supports it, the etcd key of the value is authenticated as
// well. Neither slice is modified.
type cipher interface {
	// seal appends the encrypted value to dst.
	seal(dst, value []byte, key string) ([]byte, error)
	open(stored []byte, key string) ([]byte, error)
}

var (
	errShort     = errors.New("the stored data was shorter than the required size")
	errBlocks    = errors.New("the stored data is not a multiple of the block size")
	errPadding   = errors.New("invalid padding on input")
	errSecretbox = errors.New("secretbox: the stored data cannot be authenticated")
)

// gcm is AES-GCM. It stores a random nonce and the sealed value.
type gcm struct{ aead stdcipher.AEAD }

func newGCM(key []byte) (cipher, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := stdcipher.NewGCM(block)
	return gcm{aead}, err
}

func (g gcm) seal(dst, value []byte, key string) ([]byte, error) {
	dst, nonce := appendRandom(dst, g.aead.NonceSize(), len(value)+g.aead.Overhead())
	return g.aead.Seal(dst, nonce, value, []byte(key)), nil
}

func (g gcm) open(stored []byte, key string) ([]byte, error) {
	n := g.aead.NonceSize()
	if len(stored) < n+g.aead.Overhead() {
		return nil, errShort
	}
	return g.aead.Open(nil, stored[:n], stored[n:], []byte(key))
}

// cbc is AES-CBC. It stores the initialization vector and the value with PKCS #7 padding. Nothing is
// authenticated: a wrong key usually results in invalid padding.
type cbc struct{ block stdcipher.Block }

func newCBC(key []byte) (cipher, error) {
	block, err := aes.NewCipher(key)
	return cbc{block}, err
}

func (c cbc) seal(dst, value []byte, _ string) ([]byte, error) {
	padding := aes.BlockSize - len(value)%aes.BlockSize
	dst, iv := appendRandom(dst, aes.BlockSize, len(value)+padding)
	start := len(dst)
	dst = append(append(dst, value...), bytes.Repeat([]byte{byte(padding)}, padding)...)
	stdcipher.NewCBCEncrypter(c.block, iv).CryptBlocks(dst[start:], dst[start:])
	return dst, nil
}

func (c cbc) open(stored []byte, _ string) ([]byte, error) {
	if len(stored) < aes.BlockSize {
		return nil, errShort
	}
	iv, sealed := stored[:aes.BlockSize], stored[aes.BlockSize:]
	if len(sealed)%aes.BlockSize != 0 {
		return nil, errBlocks
	}
	if len(sealed) == 0 {
		return nil, errPadding
	}
	value := make([]byte, len(sealed))
	stdcipher.NewCBCDecrypter(c.block, iv).CryptBlocks(value, sealed)
	padding := int(value[len(value)-1])
	if padding == 0 || padding > aes.BlockSize {
		return nil, errPadding
	}
	value, tail := value[:len(value)-padding], value[len(value)-padding:]
	for _, b := range tail {
		if int(b) != padding {
			return nil, errPadding
		}
	}
	return value, nil
}

// box is a NaCl secretbox with a random nonce. It does not authenticate the key in etcd.
type box struct{ key [32]byte }

const boxNonce = 24

func newBox(key []byte) (cipher, error) {
	if len(key) != 32 {
		return nil, errors.New("secretbox: a key has 32 bytes")
	}
	return &box{key: [32]byte(key)}, nil
}

func (b *box) seal(dst, value []byte, _ string) ([]byte, error) {
	dst, nonce := appendRandom(dst, boxNonce, len(value)+secretbox.Overhead)
	return secretbox.Seal(dst, value, (*[boxNonce]byte)(nonce), &b.key), nil
}

func (b *box) open(stored []byte, _ string) ([]byte, error) {
	if len(stored) < boxNonce+secretbox.Overhead {
		return nil, errShort
	}
	value, ok := secretbox.Open(nil, stored[boxNonce:], (*[boxNonce]byte)(stored[:boxNonce]), &b.key)
	if !ok {
		return nil, errSecretbox
	}
	return value, nil
}

// appendRandom appends n random bytes, with capacity for room more.
func appendRandom(dst []byte, n, room int) (all, random []byte) {
	start := len(dst)
	if cap(dst) < start+n+room {
		dst = append(make([]byte, 0, start+n+room), dst...)
	}
	dst = dst[:start+n]
	rand.Read(dst[start:]) // never fails
	return dst, dst[start:]
}
