package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication"
)

const (
	// firstPause and longestPause are the shortest and longest pause between attempts to contact an issuer.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// allAlgorithms are the asymmetric algorithms of RFC 7518. With a symmetric one, anyone could sign with the
// public key.
var allAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512,
}

var errNotReady = errors.New("oidc: authenticator not initialized")

// issuerAuthenticator authenticates the tokens of one issuer.
type issuerAuthenticator struct {
	*rules
	client   *http.Client
	metrics  *issuerMetrics
	verifier atomic.Pointer[oidc.IDTokenVerifier]
	// distributed resolves groups that are distributed claims.
	distributed *distributedClaims
	ready       chan struct{} // closed after the issuer's discovery document is read
}

// newIssuerAuthenticator returns an authenticator for one issuer. It is not ready before run. Its connections
// are closed when owner ends.
func newIssuerAuthenticator(owner context.Context, r *rules, m *Metrics) *issuerAuthenticator {
	metrics := m.issuer(r.issuer.URL)
	a := &issuerAuthenticator{rules: r, metrics: metrics, ready: make(chan struct{})}
	a.client = newClient(owner, r, metrics)
	a.distributed = &distributedClaims{a: a, verifiers: map[string]*oidc.IDTokenVerifier{}}
	return a
}

// run contacts the issuer until it responds or ctx ends.
func (a *issuerAuthenticator) run(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		v, err := a.discover(ctx, a.issuer.URL, a.issuer.DiscoveryURL)
		if err == nil {
			a.verifier.Store(v)
			close(a.ready)
			return
		}
		if ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "Failed to contact token issuer", "issuer", a.issuer.URL)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// discover reads an issuer's discovery document and returns a verifier for the signature, issuer and expiry of
// its tokens. document is the URL of the document; "" means the path below the issuer (OpenID Connect Discovery
// 1.0, section 4).
func (a *issuerAuthenticator) discover(ctx context.Context, issuer, document string) (*oidc.IDTokenVerifier, error) {
	if document == "" {
		document = strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	}
	raw, err := a.get(ctx, document, "")
	if err != nil {
		return nil, err
	}
	var found struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("oidc: discovery document of %s: %w", issuer, err)
	}
	if found.Issuer != issuer {
		return nil, fmt.Errorf("oidc: issuer did not match the issuer returned by provider, expected %q got %q", issuer,
			found.Issuer)
	}
	if found.JWKSURI == "" {
		return nil, fmt.Errorf("oidc: discovery document of %s has no jwks_uri", issuer)
	}
	algorithms := a.algorithms
	if len(algorithms) == 0 {
		algorithms = allAlgorithms
	}
	// The key set outlives ctx. The client's owner limits its requests.
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(withKeySet(context.Background()), a.client), found.JWKSURI)
	return oidc.NewVerifier(issuer, keys, &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: algorithms}), nil
}

// get reads a document of the issuer.
func (a *issuerAuthenticator) get(ctx context.Context, url, bearer string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() // read-only
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("oidc: %s responded with %s", url, response.Status)
	}
	return raw, nil
}

// AuthenticateToken implements authentication.Token for tokens of the issuer.
func (a *issuerAuthenticator) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	start := time.Now()
	response, err := a.authenticate(ctx, token)
	a.metrics.authenticated(err, time.Since(start))
	return response, err
}

func (a *issuerAuthenticator) authenticate(ctx context.Context, token string) (*authentication.Response, error) {
	verifier := a.verifier.Load()
	if verifier == nil {
		return nil, errNotReady
	}
	claims, err := a.verify(ctx, verifier, token)
	if err != nil {
		return nil, err
	}
	if a.groups.claim != "" {
		if err := a.distributed.resolve(ctx, claims, a.groups.claim); err != nil {
			return nil, err
		}
	}
	u, err := a.user(ctx, claims)
	if err != nil {
		return nil, err
	}
	return &authentication.Response{User: u}, nil
}

// verify returns the claims of a token. The token must be signed, unexpired, and for one of the audiences.
func (a *issuerAuthenticator) verify(ctx context.Context, verifier *oidc.IDTokenVerifier, token string) (map[string]any,
	error) {
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("oidc: verify token: %w", err)
	}
	if !slices.ContainsFunc(verified.Audience, func(s string) bool { return slices.Contains(a.issuer.Audiences, s) }) {
		expected := fmt.Sprintf("in %q", a.issuer.Audiences)
		if len(a.issuer.Audiences) == 1 {
			expected = strconv.Quote(a.issuer.Audiences[0])
		}
		return nil, fmt.Errorf("oidc: verify token: oidc: expected audience %s got %q", expected, verified.Audience)
	}
	var raw json.RawMessage
	if err := verified.Claims(&raw); err != nil {
		return nil, fmt.Errorf("oidc: parse claims: %w", err)
	}
	var claims map[string]any
	if err := utiljson.Unmarshal(raw, &claims); err != nil {
		return nil, fmt.Errorf("oidc: parse claims: %w", err)
	}
	return claims, notBefore(claims, time.Now())
}

// clockSkew is how far an issuer's clock may be ahead. Package oidc tolerates five minutes.
const clockSkew = time.Minute

// notBefore returns an error if the token is not valid yet.
func notBefore(claims map[string]any, now time.Time) error {
	var from float64
	switch nbf := claims["nbf"].(type) {
	case int64:
		from = float64(nbf)
	case float64:
		from = nbf
	}
	if limit := now.Add(clockSkew); from > float64(limit.Unix()) {
		return fmt.Errorf("oidc: verify token: current time %v before the nbf (not before) time %v", now, claims["nbf"])
	}
	return nil
}
