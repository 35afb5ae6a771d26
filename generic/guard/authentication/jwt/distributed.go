package jwt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"

	"triplane.dev/generic/guard/authentication"
)

// maxDistributedIssuers limits the number of other issuers that the tokens of one issuer may refer to.
const maxDistributedIssuers = 16

// distributedClaims resolves claims that are served by another issuer (OpenID Connect Core 1.0, section 5.6.2).
type distributedClaims struct {
	a *issuerAuthenticator

	mu        sync.Mutex
	verifiers map[string]*oidc.IDTokenVerifier
}

// resolve replaces the reference to a distributed claim by the claim. Without a reference, claims stay
// unchanged.
func (d *distributedClaims) resolve(ctx context.Context, claims map[string]any, name string) error {
	if _, has := claims[name]; has {
		return nil
	}
	names, _ := claims["_claim_names"].(map[string]any)
	source, ok := names[name].(string)
	if !ok {
		return nil
	}
	sources, _ := claims["_claim_sources"].(map[string]any)
	where, _ := sources[source].(map[string]any)
	endpoint, _ := where["endpoint"].(string)
	if endpoint == "" {
		return fmt.Errorf("oidc: no endpoint of the distributed claim %q", name)
	}
	bearer, _ := where["access_token"].(string)
	raw, err := d.a.get(ctx, endpoint, bearer)
	if err != nil {
		return fmt.Errorf("oidc: distributed claim %q: %w", name, err)
	}
	token := string(raw)
	verifier, err := d.verifier(ctx, authentication.TokenIssuer(token))
	if err != nil {
		return fmt.Errorf("oidc: distributed claim %q: %w", name, err)
	}
	found, err := d.a.verify(ctx, verifier, token)
	if err != nil {
		return fmt.Errorf("oidc: distributed claim %q: %w", name, err)
	}
	value, ok := found[name]
	if !ok {
		return fmt.Errorf("oidc: the service of the distributed claim %q did not return it", name)
	}
	claims[name] = value
	return nil
}

// verifier returns the verifier of an issuer. The first call contacts the issuer.
func (d *distributedClaims) verifier(ctx context.Context, issuer string) (*oidc.IDTokenVerifier, error) {
	if issuer == "" {
		return nil, errors.New("the response is not a token with an issuer")
	}
	if issuer == d.a.issuer.URL {
		return d.a.verifier.Load(), nil
	}
	d.mu.Lock()
	v, ok := d.verifiers[issuer]
	d.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := d.a.discover(ctx, issuer, "")
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.verifiers) >= maxDistributedIssuers {
		clear(d.verifiers)
	}
	d.verifiers[issuer] = v
	return v, nil
}
