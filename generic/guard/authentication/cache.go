package authentication

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// maxCachedTokens bounds each of a token cache's two generations.
const maxCachedTokens = 2048

type cachedToken struct {
	response *Response
	expires  time.Time
}

// TokenCache remembers for a short time which tokens were accepted, for
// authenticators that ask somebody else. Tokens are kept as keyed hashes, so
// that memory does not reveal them.
//
// Refusals are not remembered: a token that becomes good is good at once.
type TokenCache struct {
	inner Token
	ttl   time.Duration
	key   [32]byte
	now   func() time.Time
	known recent[[sha256.Size]byte, cachedToken]
	count TokenCacheMetrics
}

// TokenCacheMetrics learn what a token cache does. They are safe for concurrent use.
type TokenCacheMetrics interface {
	// Asked is called for each token, with whether it was known and how long the answer
	// took.
	Asked(hit bool, took time.Duration)
	// Fetching is called before who knows is asked, and what it returns with the result.
	Fetching() (done func(err error))
}

// Count has what the cache does counted. It is called before the cache is used.
func (c *TokenCache) Count(m TokenCacheMetrics) { c.count = m }

// NewTokenCache caches what inner accepts for ttl.
func NewTokenCache(inner Token, ttl time.Duration) *TokenCache {
	c := &TokenCache{inner: inner, ttl: ttl, now: time.Now}
	c.known.limit = maxCachedTokens
	// crypto/rand never fails on the systems that Go supports.
	_, _ = rand.Read(c.key[:])
	return c
}

// AuthenticateToken implements Token.
func (c *TokenCache) AuthenticateToken(ctx context.Context, token string) (*Response, error) {
	start := time.Now()
	key := c.hash(ctx, token)
	if known, ok := c.known.get(key); ok && c.now().Before(known.expires) {
		c.asked(true, start)
		return known.response, nil
	}
	response, err := c.fetch(ctx, token)
	c.asked(false, start)
	if response != nil && err == nil {
		c.known.put(key, cachedToken{response, c.now().Add(c.ttl)})
	}
	return response, err
}

func (c *TokenCache) asked(hit bool, start time.Time) {
	if c.count != nil {
		c.count.Asked(hit, time.Since(start))
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

// hash is the key of a token with the audiences asked for.
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

// appendCounted appends a text behind its length, so that no other texts look the same together.
func appendCounted(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
