package serviceaccount

import (
	"crypto/sha256"
	"sync"
)

// maxVerified bounds each of the cache's two generations.
const maxVerified = 1024

// verifiedCache remembers the payloads of tokens whose signature was good: the
// check costs more than all the rest of a request. Nothing else about a token
// is remembered. The zero value is ready.
type verifiedCache struct {
	mu           sync.RWMutex
	fresh, aging map[[sha256.Size]byte][]byte
}

func (c *verifiedCache) get(token string) []byte {
	key := sha256.Sum256([]byte(token))
	c.mu.RLock()
	payload, fresh := c.fresh[key]
	if !fresh {
		payload = c.aging[key]
	}
	c.mu.RUnlock()
	if payload != nil && !fresh {
		// It is in use: keep it for another generation.
		c.put(token, payload)
	}
	return payload
}

func (c *verifiedCache) put(token string, payload []byte) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil || len(c.fresh) >= maxVerified {
		c.fresh, c.aging = map[[sha256.Size]byte][]byte{}, c.fresh
	}
	c.fresh[key] = payload
}
