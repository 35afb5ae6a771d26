package jwt

import (
	"context"
	"slices"
	"time"

	"triplane/generic/guard/authentication"
	"triplane/internal/worker"
)

// successHolds is how long an accepted token is not looked at again.
const successHolds = 10 * time.Second

// set is the authenticators of one configuration. It is never changed.
type set struct {
	anonymous *Anonymous
	byIssuer  map[string]*issuerAuthenticator
	cached    authentication.Token

	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // the set's life
	done   worker.Group
}

// newSet returns the authenticators of a configuration, which contact nobody before
// start.
func newSet(c *Compiled, m *Metrics) *set {
	s := &set{anonymous: c.Anonymous, byIssuer: map[string]*issuerAuthenticator{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, r := range c.rules {
		s.byIssuer[r.issuer.URL] = newIssuerAuthenticator(s.ctx, r, m)
	}
	s.cached = authentication.NewTokenCache(authentication.TokenFunc(s.authenticate), successHolds)
	return s
}

// start contacts the issuers in the background.
func (s *set) start() {
	for _, a := range s.byIssuer {
		s.done.Keep(s.ctx, a.run)
	}
}

// stop ends what start began, and the set's connections.
func (s *set) stop() {
	s.cancel()
	s.done.Wait()
}

// ready returns when all issuers have answered, or ctx's error.
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

// AuthenticateToken implements authentication.Token. It has no opinion about tokens
// of other issuers.
func (s *set) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	if s.byIssuer[authentication.TokenIssuer(token)] == nil {
		return nil, nil
	}
	return s.cached.AuthenticateToken(ctx, token)
}

func (s *set) authenticate(ctx context.Context, token string) (*authentication.Response, error) {
	return s.byIssuer[authentication.TokenIssuer(token)].AuthenticateToken(ctx, token)
}

// missing lists the issuers of s that other does not have.
func (s *set) missing(other *set) (gone []string) {
	for url := range s.byIssuer {
		if other.byIssuer[url] == nil {
			gone = append(gone, url)
		}
	}
	slices.Sort(gone)
	return gone
}
