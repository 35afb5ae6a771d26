package serviceaccount

import (
	"crypto/sha256"
	"sync"

	"triplane/generic/base/user"
)

// maxVerified bounds each of the cache's two generations.
const maxVerified = 1024

// verifiedToken is what a token with a good signature says. It is never changed.
type verifiedToken struct {
	bound  *claims
	legacy *legacyClaims
	// user is whose a bound token is.
	user *user.Info
	// generation of the keys that the signature was checked with.
	generation uint64
}

// verifiedCache remembers what tokens say whose signature was good: the
// check costs more than all the rest of a request. Nothing else about a token
// is remembered. The zero value is ready.
type verifiedCache struct {
	mu           sync.RWMutex
	fresh, aging map[[sha256.Size]byte]*verifiedToken
}

func (c *verifiedCache) get(token string) *verifiedToken {
	key := sha256.Sum256([]byte(token))
	c.mu.RLock()
	t, fresh := c.fresh[key]
	if !fresh {
		t = c.aging[key]
	}
	c.mu.RUnlock()
	if t != nil && !fresh {
		// It is in use: keep it for another generation.
		c.put(token, t)
	}
	return t
}

func (c *verifiedCache) put(token string, t *verifiedToken) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil || len(c.fresh) >= maxVerified {
		c.fresh, c.aging = map[[sha256.Size]byte]*verifiedToken{}, c.fresh
	}
	c.fresh[key] = t
}
