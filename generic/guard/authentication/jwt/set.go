package jwt

import (
	"context"
	"slices"
	"time"

	"triplane.dev/generic/guard/authentication"
	"triplane.dev/internal/worker"
)

// successTTL is how long a successful authentication is cached.
const successTTL = 10 * time.Second

// set is the authenticators of one configuration. It is immutable.
type set struct {
	anonymous *Anonymous
	byIssuer  map[string]*issuerAuthenticator
	cached    authentication.Token

	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // limits the set's goroutines
	done   worker.Group
}

// newSet returns the authenticators of a configuration. They contact their issuers after start.
func newSet(c *Compiled, m *Metrics) *set {
	s := &set{anonymous: c.Anonymous, byIssuer: map[string]*issuerAuthenticator{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, r := range c.rules {
		s.byIssuer[r.issuer.URL] = newIssuerAuthenticator(s.ctx, r, m)
	}
	s.cached = authentication.NewTokenCache(authentication.TokenFunc(s.authenticate), successTTL)
	return s
}

// start contacts the issuers in the background.
func (s *set) start() {
	for _, a := range s.byIssuer {
		s.done.Keep(s.ctx, a.run)
	}
}

// stop stops the goroutines of start and closes connections.
func (s *set) stop() {
	s.cancel()
	s.done.Wait()
}

// ready returns when all issuers have responded, or when ctx ends.
func (s *set) ready(ctx context.Context) error {
	for _, a := range s.byIssuer {
		select {
		case <-a.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// AuthenticateToken implements authentication.Token. It has no opinion on tokens of other issuers.
func (s *set) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	if s.byIssuer[authentication.TokenIssuer(token)] == nil {
		return nil, nil
	}
	return s.cached.AuthenticateToken(ctx, token)
}

func (s *set) authenticate(ctx context.Context, token string) (*authentication.Response, error) {
	return s.byIssuer[authentication.TokenIssuer(token)].AuthenticateToken(ctx, token)
}

// missing returns the issuers of s that other does not have.
func (s *set) missing(other *set) (removed []string) {
	for url := range s.byIssuer {
		if other.byIssuer[url] == nil {
			removed = append(removed, url)
		}
	}
	slices.Sort(removed)
	return removed
}
