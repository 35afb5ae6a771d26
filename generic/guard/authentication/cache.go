package authentication

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// maxCachedTokens limits the size of each of the cache's two generations.
const maxCachedTokens = 2048

type cachedToken struct {
	response *Response
	expires  time.Time
}

// TokenCache caches successful authentications, for authenticators that call a remote service. Its keys are
// keyed hashes, so that a memory dump does not reveal tokens.
//
// Failures are not cached: a token that becomes valid is accepted at once.
type TokenCache struct {
	inner Token
	ttl   time.Duration
	key   [32]byte
	now   func() time.Time
	known recent[[sha256.Size]byte, cachedToken]
	count *TokenCacheMetrics
}

// Count sets the metrics of the cache. It must be called before the first token.
func (c *TokenCache) Count(m *TokenCacheMetrics) { c.count = m }

// NewTokenCache returns a cache that keeps the successful results of inner for ttl.
func NewTokenCache(inner Token, ttl time.Duration) *TokenCache {
	c := &TokenCache{inner: inner, ttl: ttl, now: time.Now}
	c.known.limit = maxCachedTokens
	// crypto/rand.Read never returns an error.
	_, _ = rand.Read(c.key[:])
	return c
}

// AuthenticateToken implements Token.
func (c *TokenCache) AuthenticateToken(ctx context.Context, token string) (*Response, error) {
	start := time.Now()
	key := c.hash(ctx, token)
	if known, ok := c.known.get(key); ok && c.now().Before(known.expires) {
		c.observe(true, start)
		return known.response, nil
	}
	response, err := c.fetch(ctx, token)
	c.observe(false, start)
	if response != nil && err == nil {
		c.known.put(key, cachedToken{response, c.now().Add(c.ttl)})
	}
	return response, err
}

func (c *TokenCache) observe(hit bool, start time.Time) {
	if c.count != nil {
		c.count.Requested(hit, time.Since(start))
	}
}

func (c *TokenCache) fetch(ctx context.Context, token string) (*Response, error) {
	if c.count == nil {
		return c.inner.AuthenticateToken(ctx, token)
	}
	done := c.count.Fetching()
	response, err := c.inner.AuthenticateToken(ctx, token)
	done(err)
	return response, err
}

// hash returns the cache key of a token and the required audiences.
func (c *TokenCache) hash(ctx context.Context, token string) (key [sha256.Size]byte) {
	text := appendCounted(make([]byte, 0, len(token)+64), token)
	if audiences, ok := AudiencesFrom(ctx); ok {
		text = binary.AppendUvarint(text, uint64(len(audiences)))
		for _, a := range audiences {
			text = appendCounted(text, a)
		}
	}
	h := hmac.New(sha256.New, c.key[:])
	h.Write(text)
	h.Sum(key[:0])
	return key
}

// appendCounted appends the length of a text and the text, so that concatenations are unambiguous.
func appendCounted(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
