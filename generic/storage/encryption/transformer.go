package encryption

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// encPrefix begins everything that is not stored as it is.
const encPrefix = "k8s:enc:"

var (
	errNoMatch   = errors.New("no matching prefix found")
	errEncrypted = errors.New("identity transformer tried to read encrypted data")
)

// transformer converts between values and what is stored of them. Slices that go
// in are not changed; what comes out may be what went in.
type transformer interface {
	// prefix begins what the transformer stores; seal and open do without.
	prefix() string
	// seal appends what is stored to dst, behind the prefix.
	seal(ctx context.Context, dst, value []byte, key string) ([]byte, error)
	// open reports a value as stale that seal would store differently today.
	open(ctx context.Context, stored []byte, key string) (value []byte, stale bool, err error)
}

// chain is the providers of a resource. The first one writes.
type chain []transformer

func (c chain) seal(ctx context.Context, value []byte, key string) ([]byte, error) {
	first := c[0]
	if _, ok := first.(identity); ok {
		return value, nil
	}
	// Room for what the schemes add, so that the value is copied once.
	p := first.prefix()
	dst := append(make([]byte, 0, len(p)+len(value)+128), p...)
	return first.seal(ctx, dst, value, key)
}

// open tries the providers whose prefix the stored bytes have. That the identity
// provider refuses what is encrypted is of no interest while there are others.
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

// prefixOf is the prefix of the provider that stored bytes come from, for
// metrics; "unknown" if it is none of the chain.
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

// begins is bytes.HasPrefix of a string, which is not copied.
func begins(stored []byte, prefix string) bool {
	return len(stored) >= len(prefix) && string(stored[:len(prefix)]) == prefix
}

// identity stores values as they are.
type identity struct{}

func (identity) prefix() string { return "" }

func (identity) seal(_ context.Context, _, value []byte, _ string) ([]byte, error) { return value, nil }

func (identity) open(_ context.Context, stored []byte, _ string) ([]byte, bool, error) {
	if begins(stored, encPrefix) {
		return nil, false, errEncrypted
	}
	return stored, false, nil
}

// keyed is a provider with keys of its own: behind its prefix stands the name of
// the key and a colon. The first key writes.
type keyed struct {
	start string
	keys  []namedCipher
	noKey error
}

type namedCipher struct {
	name string // with the colon
	cipher
}

// newKeyed makes a provider from its (valid) keys.
func newKeyed(scheme, name string, keys []Key, make func([]byte) (cipher, error)) (transformer, error) {
	k := &keyed{start: encPrefix + scheme + ":v1:", noKey: errors.New("no matching key was found for the provided " + name + " transformer")}
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
