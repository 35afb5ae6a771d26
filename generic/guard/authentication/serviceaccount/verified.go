package serviceaccount

import (
	"crypto/sha256"
	"sync"

	"triplane.dev/generic/base/user"
)

// maxVerified limits the size of each of the cache's two generations.
const maxVerified = 1024

// verifiedToken is the decoded content of a token with a valid signature. It is immutable.
type verifiedToken struct {
	bound  *claims
	legacy *legacyClaims
	// user is the user of a bound token.
	user *user.Info
	// generation is the generation of the keys that verified the signature.
	generation uint64
}

// verifiedCache caches tokens with a valid signature, because verifying a signature costs more than the rest of
// a request. It caches no other result. The zero value is ready to use.
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
		// A token in use moves to the fresh generation.
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
