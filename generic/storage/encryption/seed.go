package encryption

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
)

const (
	seedSize = 32
	// infoSize is the size of the random bytes from which, with the seed, HKDF derives a key for each value.
	infoSize = 32
)

// seeded encrypts each value with a separate key, which HKDF-Expand with SHA-256 derives from a seed. The
// stored value is the random info of the derivation, followed by the output of gcm.
type seeded struct{ seed []byte }

func newSeeded(seed []byte) (cipher, error) {
	if len(seed) < seedSize {
		return nil, errors.New("the decrypted seed is too short")
	}
	return seeded{seed}, nil
}

func (s seeded) derive(info []byte) (cipher, error) {
	key, err := hkdf.Expand(sha256.New, s.seed, string(info), 32)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

func (s seeded) seal(dst, value []byte, key string) ([]byte, error) {
	dst, info := appendRandom(dst, infoSize, len(value)+gcmAdds)
	c, err := s.derive(info)
	if err != nil {
		return nil, err
	}
	return c.seal(dst, value, key)
}

func (s seeded) open(stored []byte, key string) ([]byte, error) {
	if len(stored) < infoSize {
		return nil, errShort
	}
	c, err := s.derive(stored[:infoSize])
	if err != nil {
		return nil, err
	}
	return c.open(stored[infoSize:], key)
}

// gcmAdds is how many bytes gcm adds to a value: nonce and tag.
const gcmAdds = 12 + 16
