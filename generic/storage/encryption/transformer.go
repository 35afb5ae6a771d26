package encryption

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// encPrefix is the prefix of all encrypted values.
const encPrefix = "k8s:enc:"

var (
	errNoMatch   = errors.New("no matching prefix found")
	errEncrypted = errors.New("identity transformer tried to read encrypted data")
)

// transformer encrypts and decrypts values. It does not modify its arguments. Results may share memory with
// them.
type transformer interface {
	// prefix is the prefix of stored values. seal and open work without it.
	prefix() string
	// seal appends the encrypted value to dst, which ends with the prefix.
	seal(ctx context.Context, dst, value []byte, key string) ([]byte, error)
	// open decrypts a value. stale is set if seal would use another key or format.
	open(ctx context.Context, stored []byte, key string) (value []byte, stale bool, err error)
}

// chain is the providers of a resource. The first one encrypts.
type chain []transformer

func (c chain) seal(ctx context.Context, value []byte, key string) ([]byte, error) {
	first := c[0]
	if _, ok := first.(identity); ok {
		return value, nil
	}
	// The capacity avoids a copy when seal appends.
	p := first.prefix()
	dst := append(make([]byte, 0, len(p)+len(value)+128), p...)
	return first.seal(ctx, dst, value, key)
}

// open tries the providers with the prefix of the stored value. The error of the identity provider for
// encrypted values is only returned if there is no other one.
func (c chain) open(ctx context.Context, stored []byte, key string) (value []byte, stale bool, err error) {
	var errs []error
	for i, t := range c {
		p := t.prefix()
		if !begins(stored, p) {
			continue
		}
		value, stale, err := t.open(ctx, stored[len(p):], key)
		if err == nil {
			return value, stale || i > 0, nil
		}
		if p != "" || len(c) == 1 {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil, false, errNoMatch
	}
	return nil, false, utilerrors.Reduce(utilerrors.NewAggregate(errs))
}

// prefixOf returns the prefix of the provider of a stored value for metrics, or "unknown".
func (c chain) prefixOf(stored []byte) string {
	for _, t := range c {
		if p := t.prefix(); p != "" && begins(stored, p) {
			return p
		}
	}
	if begins(stored, encPrefix) {
		return "unknown"
	}
	return ""
}

// begins reports whether stored begins with prefix.
func begins(stored []byte, prefix string) bool {
	return len(stored) >= len(prefix) && string(stored[:len(prefix)]) == prefix
}

// identity stores values without encryption.
type identity struct{}

func (identity) prefix() string { return "" }

func (identity) seal(_ context.Context, _, value []byte, _ string) ([]byte, error) { return value, nil }

func (identity) open(_ context.Context, stored []byte, _ string) ([]byte, bool, error) {
	if begins(stored, encPrefix) {
		return nil, false, errEncrypted
	}
	return stored, false, nil
}

// keyed is a provider with local keys. The name of the key and a colon follow its prefix. The first key
// encrypts.
type keyed struct {
	start string
	keys  []namedCipher
	noKey error
}

type namedCipher struct {
	name string // with the colon
	cipher
}

// newKeyed returns a provider for valid keys.
func newKeyed(scheme, name string, keys []Key, make func([]byte) (cipher, error)) (transformer, error) {
	k := &keyed{start: encPrefix + scheme + ":v1:", noKey: errors.New("no matching key was found for the provided " +
		name + " transformer")}
	for _, key := range keys {
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil {
			return nil, err
		}
		c, err := make(secret)
		if err != nil {
			return nil, err
		}
		k.keys = append(k.keys, namedCipher{name: key.Name + ":", cipher: c})
	}
	return k, nil
}

func (k *keyed) prefix() string { return k.start }

func (k *keyed) seal(_ context.Context, dst, value []byte, key string) ([]byte, error) {
	return k.keys[0].cipher.seal(append(dst, k.keys[0].name...), value, key)
}

func (k *keyed) open(_ context.Context, stored []byte, key string) ([]byte, bool, error) {
	for i := range k.keys {
		if sealed, ok := bytes.CutPrefix(stored, []byte(k.keys[i].name)); ok {
			value, err := k.keys[i].cipher.open(sealed, key)
			return value, i > 0, err
		}
	}
	return nil, false, k.noKey
}
