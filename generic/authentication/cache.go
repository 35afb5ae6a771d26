package authentication

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// maxCached bounds the cache; when it is full, the oldest generation goes.
const maxCached = 4096

type cacheKey [sha256.Size]byte

type cached struct {
	response *Response
	expires  time.Time
}

// TokenCache remembers for a short time which tokens were accepted. Tokens are
// kept as keyed hashes, so that memory does not tell them.
//
// Refusals are not remembered: they are as quick to find out again, and a token
// that becomes good is good at once.
type TokenCache struct {
	inner Token
	ttl   time.Duration
	key   [32]byte
	now   func() time.Time

	mu sync.RWMutex
	// fresh and aging are two generations: what is used in aging moves to fresh.
	fresh, aging map[cacheKey]cached
}

// NewTokenCache caches what inner accepts for ttl.
func NewTokenCache(inner Token, ttl time.Duration) *TokenCache {
	c := &TokenCache{inner: inner, ttl: ttl, now: time.Now, fresh: map[cacheKey]cached{}}
	// crypto/rand never fails on the systems that Go supports.
	_, _ = rand.Read(c.key[:])
	return c
}

// AuthenticateToken implements Token.
func (c *TokenCache) AuthenticateToken(ctx context.Context, token string) (*Response, error) {
	key := c.hash(ctx, token)
	if response := c.lookup(key); response != nil {
		return response, nil
	}
	response, err := c.inner.AuthenticateToken(ctx, token)
	if response != nil && err == nil {
		c.store(key, response)
	}
	return response, err
}

func (c *TokenCache) hash(ctx context.Context, token string) cacheKey {
	h := hmac.New(sha256.New, c.key[:])
	h.Write([]byte(token))
	if audiences, ok := AudiencesFrom(ctx); ok {
		for _, a := range audiences {
			h.Write([]byte{0})
			h.Write([]byte(a))
		}
	}
	var key cacheKey
	h.Sum(key[:0])
	return key
}

func (c *TokenCache) lookup(key cacheKey) *Response {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.fresh[key]
	if !ok {
		e, ok = c.aging[key]
	}
	if !ok || !c.now().Before(e.expires) {
		return nil
	}
	return e.response
}

func (c *TokenCache) store(key cacheKey, response *Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fresh) >= maxCached/2 {
		c.aging, c.fresh = c.fresh, make(map[cacheKey]cached, maxCached/2)
	}
	c.fresh[key] = cached{response: response, expires: c.now().Add(c.ttl)}
}
