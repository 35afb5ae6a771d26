package serviceaccount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/guard/authentication"
)

// Getter returns the objects that tokens are bound to. For a missing object it returns a NotFound API error.
// Callers do not modify the objects.
type Getter interface {
	GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	GetNode(ctx context.Context, name string) (*corev1.Node, error)
}

// Config configures an Authenticator.
type Config struct {
	// Issuers are the accepted issuer URLs, the current one first.
	Issuers []string
	// LegacyIssuer is the issuer of tokens in Secrets; "" is LegacyIssuer.
	LegacyIssuer string
	Keys         Keys
	// Audiences are the API server's own. Tokens must be for one of them, unless the context has other
	// audiences.
	Audiences []string
	Getter    Getter
	// Lookup false skips the lookup of service accounts for tokens in Secrets (--service-account-lookup=false).
	Lookup bool
	// RecordUse records that the token in a Secret was used on a day (time.DateOnly, UTC). With nil it is not
	// recorded.
	RecordUse func(ctx context.Context, namespace, name, day string) error
	// Metrics may be nil.
	Metrics *Metrics
}

// Authenticator authenticates service account tokens: bound ones, and legacy ones from Secrets.
type Authenticator struct {
	config   Config
	issuers  map[string]bool
	verified verifiedCache
	uses     useRecorder
	now      func() time.Time
}

// NewAuthenticator returns an authenticator for tokens of the configured issuers.
func NewAuthenticator(c Config) *Authenticator {
	if c.LegacyIssuer == "" {
		c.LegacyIssuer = LegacyIssuer
	}
	a := &Authenticator{config: c, issuers: map[string]bool{c.LegacyIssuer: true}, now: time.Now}
	a.uses.write = c.RecordUse
	for _, i := range c.Issuers {
		a.issuers[i] = true
	}
	return a
}

// AuthenticateToken implements authentication.Token. It has no opinion on tokens that are no JWT or have
// another issuer.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	t := a.verified.get(token)
	if t == nil || t.generation != a.config.Keys.Generation() {
		issuer := authentication.TokenIssuer(token)
		if !a.issuers[issuer] {
			return nil, nil
		}
		var err error
		if t, err = a.verify(ctx, token, issuer); err != nil {
			return nil, err
		}
	}
	if t.legacy != nil {
		return a.acceptLegacy(ctx, token, t)
	}
	return a.acceptBound(ctx, t)
}

// algorithms are the accepted signature algorithms. They include neither "none" nor symmetric ones, with which
// anyone could sign with the public key.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// verify verifies the signature of a token and decodes it.
func (a *Authenticator) verify(ctx context.Context, token, issuer string) (*verifiedToken, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		// The error of an invalid signature: the difference does not help clients.
		return nil, jose.ErrCryptoFailure
	}
	errs := []error{}
	generation := a.config.Keys.Generation()
	for _, key := range a.config.Keys.Find(ctx, signed.Signatures[0].Header.KeyID) {
		payload, err := signed.Verify(key.Key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t, err := parsePayload(payload, issuer == a.config.LegacyIssuer)
		if err == nil {
			t.generation = generation
			a.verified.put(token, t)
		}
		return t, err
	}
	if len(errs) == 0 {
		return nil, errors.New("invalid signature, no keys found")
	}
	return nil, utilerrors.NewAggregate(errs)
}

func parsePayload(payload []byte, legacy bool) (*verifiedToken, error) {
	if legacy {
		var c legacyClaims
		if err := json.Unmarshal(payload, &c); err != nil {
			return nil, errClaims
		}
		return &verifiedToken{legacy: &c}, nil
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, errClaims
	}
	return &verifiedToken{bound: &c, user: userOf(&c)}, nil
}

// audiences returns the required audiences that the token offers, or an error if there is none.
func (a *Authenticator) audiences(ctx context.Context, offered []string) ([]string, error) {
	wanted, ok := authentication.AudiencesFrom(ctx)
	if !ok || len(wanted) == 0 {
		wanted = a.config.Audiences
	}
	both := authentication.Intersect(wanted, offered)
	if len(wanted) > 0 && len(both) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", offered, wanted)
	}
	return both, nil
}

func (a *Authenticator) acceptBound(ctx context.Context, t *verifiedToken) (*authentication.Response, error) {
	audiences, err := a.audiences(ctx, t.bound.Audience)
	if err != nil {
		return nil, err
	}
	if err := a.checkTimes(&t.bound.Claims); err != nil {
		return nil, err
	}
	if err := a.checkBound(ctx, &t.bound.Kubernetes); err != nil {
		return nil, err
	}
	stale := a.stale(t.bound)
	a.config.Metrics.boundUsed(stale != nil)
	return &authentication.Response{User: t.user, Audiences: audiences, Annotations: stale}, nil
}

// stale returns the audit annotation for a token that its client should have renewed, or nil.
func (a *Authenticator) stale(c *claims) map[string]string {
	if c.Kubernetes.WarnAfter == nil {
		return nil
	}
	late := a.now().Sub(c.Kubernetes.WarnAfter.Time())
	if late < 0 {
		return nil
	}
	return map[string]string{"authentication.k8s.io/stale-token": fmt.Sprintf(
		"subject: %s, seconds after warning threshold: %.0f", c.Subject, late.Seconds())}
}

// errClaims is the error for tokens with a valid signature that cannot be decoded.
var errClaims = errors.New("service account token claims could not be parsed")

// errInvalidated is the error for tokens whose service account or bound object was deleted.
var errInvalidated = errors.New("service account token has been invalidated")

// checkTimes validates the times of a token. It tolerates one minute of clock skew, like kube-apiserver,
// because another server may have signed the token.
func (a *Authenticator) checkTimes(c *jwt.Claims) error {
	switch err := c.ValidateWithLeeway(jwt.Expected{Time: a.now()}, jwt.DefaultLeeway); {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrExpired):
		return errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return errors.New("service account token is not valid yet")
	}
	return errors.New("service account token claims could not be validated due to unexpected validation error")
}
