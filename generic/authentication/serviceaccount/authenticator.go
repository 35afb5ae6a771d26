package serviceaccount

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane/generic/authentication"
)

// Getter looks up what tokens are bound to. A missing object is a not-found
// API error. The objects are not changed.
type Getter interface {
	GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	GetNode(ctx context.Context, name string) (*corev1.Node, error)
}

// Config is what an Authenticator checks tokens with.
type Config struct {
	// Issuers are the URLs that tokens may come from, the first the current.
	Issuers []string
	Keys    []PublicKey
	// Audiences are the API server's own; tokens must name one of them, unless
	// the context asks for others.
	Audiences []string
	Getter    Getter
	// Lookup false spares the look for accounts of Secret tokens
	// (--service-account-lookup=false).
	Lookup bool
}

// Authenticator checks service account tokens, bound ones and those stored in
// Secrets.
type Authenticator struct {
	config   Config
	issuers  map[string]bool
	verified verifiedCache
	now      func() time.Time
}

// NewAuthenticator returns an authenticator of the configured issuers' tokens.
func NewAuthenticator(c Config) *Authenticator {
	a := &Authenticator{config: c, issuers: map[string]bool{LegacyIssuer: true}, now: time.Now}
	for _, i := range c.Issuers {
		a.issuers[i] = true
	}
	return a
}

// AuthenticateToken implements authentication.Token. Tokens that are no JWT, or
// another issuer's, are somebody else's to judge.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	issuer := issuerOf(token)
	if !a.issuers[issuer] {
		return nil, nil
	}
	payload, err := a.verify(token)
	if err != nil {
		return nil, err
	}
	if issuer == LegacyIssuer {
		return a.acceptLegacy(ctx, token, payload)
	}
	return a.acceptBound(ctx, payload)
}

// issuerOf reads the issuer before anything is verified, "" where it cannot.
func issuerOf(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	body, signature, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(signature, ".") {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return c.Issuer
}

// algorithms that keys of ours sign with. "none" is not among them, nor is any
// that would take a public key for a shared secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// verify returns the payload of a token that one of the keys signed.
func (a *Authenticator) verify(token string) ([]byte, error) {
	if payload := a.verified.get(token); payload != nil {
		return payload, nil
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		// What a client could learn from the difference is nothing: say what is
		// said of a wrong signature.
		return nil, jose.ErrCryptoFailure
	}
	id := signed.Signatures[0].Header.KeyID
	var errs []error
	for _, key := range a.candidates(id) {
		payload, err := signed.Verify(key.Key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a.verified.put(token, payload)
		return payload, nil
	}
	if len(errs) == 0 {
		return nil, jose.ErrCryptoFailure
	}
	return nil, utilerrors.NewAggregate(errs)
}

// candidates are the keys of an ID, or all where no key has it.
func (a *Authenticator) candidates(id string) []PublicKey {
	for i, k := range a.config.Keys {
		if id != "" && k.ID == id {
			return a.config.Keys[i : i+1]
		}
	}
	return a.config.Keys
}

// audiences returns those the token is good for of those asked for.
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

func (a *Authenticator) acceptBound(ctx context.Context, payload []byte) (*authentication.Response, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, errors.New("service account token claims could not be parsed")
	}
	audiences, err := a.audiences(ctx, c.Audience)
	if err != nil {
		return nil, err
	}
	if err := a.checkTimes(&c.Claims); err != nil {
		return nil, err
	}
	if err := a.checkBound(ctx, &c.Kubernetes); err != nil {
		return nil, err
	}
	return &authentication.Response{User: userOf(&c), Audiences: audiences}, nil
}

// errInvalidated is said of tokens whose account or bound object is gone.
var errInvalidated = errors.New("service account token has been invalidated")

func (a *Authenticator) checkTimes(c *jwt.Claims) error {
	switch err := c.ValidateWithLeeway(jwt.Expected{Time: a.now()}, 0); {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrExpired):
		return errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return errors.New("service account token is not valid yet")
	}
	return errors.New("service account token claims could not be validated due to unexpected validation error")
}
