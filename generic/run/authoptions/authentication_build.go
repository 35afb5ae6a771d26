package authoptions

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/guard/authentication/webhook"
	"triplane.dev/internal/worker"
)

// Lookups reads the objects to which tokens refer.
type Lookups interface {
	serviceaccount.Getter
	// RecordTokenUse records on a Secret that its token was used on a day.
	RecordTokenUse(ctx context.Context, namespace, name, day string) error
}

// AuthenticationInputs are the dependencies of authenticators.
type AuthenticationInputs struct {
	Lookups Lookups
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// TokenCache has the metrics of the webhook's cache; it may be nil.
	TokenCache *authentication.TokenCacheMetrics
	// ServerID is the identity of this API server.
	ServerID string
	// AlwaysAllowed means that the authorizer allows everything. Anonymous requests are then disabled by default.
	AlwaysAllowed bool
	// Features reports whether a feature gate is on.
	Features func(gate string) bool
	// Egress connects to webhooks and issuers; it may be nil.
	Egress *egress.Selector
}

// Authenticators are the authenticators that the options describe.
type Authenticators struct {
	Request authentication.Request
	// Token authenticates tokens of TokenReviews.
	Token authentication.Token
	// Audiences are the accepted audiences of tokens.
	Audiences []string
	// ClientCA and RequestHeaderCA are published for aggregated API servers; nil if not configured.
	ClientCA, RequestHeaderCA *authentication.CABundle
	// Authorities returns the current CAs of clients and front proxies; nil if none is configured.
	Authorities func() *x509.CertPool
	// Signer and Keys sign and verify service account tokens.
	Signer serviceaccount.Signer
	Keys   serviceaccount.Keys
	// MaxTokenLifetime bounds the lifetime of requested tokens, 0 means no limit. ExtendedTokenLifetime is the
	// lifetime of pods' tokens with --service-account-extend-token-expiration.
	MaxTokenLifetime, ExtendedTokenLifetime time.Duration

	parts      authenticatorParts
	background []func(context.Context)
	closers    []func() error
}

// authenticatorParts are the authenticators of which Request consists, in its order.
type authenticatorParts struct {
	certificates []authentication.Request
	// first and last are the authenticators of tokens before and after those of service accounts.
	first, last []authentication.Token
	anonymous   authentication.Request
	accounts    *serviceaccount.Metrics
}

// Close closes connections. It must be called after the last request.
func (a *Authenticators) Close() error {
	var errs []error
	for _, c := range a.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Background returns a function that must run while requests are authenticated, until its context is done; nil if
// not needed.
func (a *Authenticators) Background() func(context.Context) {
	if len(a.background) == 0 {
		return nil
	}
	return func(ctx context.Context) {
		var all worker.Group
		for _, run := range a.background {
			all.Keep(ctx, run)
		}
		all.Wait()
	}
}

func (a *Authenticators) bundles() (all []*authentication.CABundle) {
	for _, b := range []*authentication.CABundle{a.ClientCA, a.RequestHeaderCA} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// Build reads the files and creates the authenticators, which the caller must close. It waits for an external
// signer until ctx is done.
func (o *Authentication) Build(ctx context.Context, in AuthenticationInputs) (_ *Authenticators, err error) {
	a := &Authenticators{Audiences: o.APIAudiences}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if len(a.Audiences) == 0 {
		a.Audiences = o.ServiceAccount.Issuers
	}
	if a.parts.certificates, err = o.certificates(a, in.Features); err != nil {
		return nil, err
	}
	configured, err := o.configured(a, in)
	if err != nil {
		return nil, err
	}
	a.parts.anonymous = configured.Anonymous()
	var accounts []authentication.Token
	if s := &o.ServiceAccount; s.SigningKeyFile != "" || s.SigningEndpoint != "" {
		if err := s.keys(ctx, a, in.Metrics); err != nil {
			return nil, err
		}
		if in.Metrics != nil {
			a.parts.accounts = serviceaccount.NewMetrics(in.Metrics)
		}
		accounts = append(accounts, s.authenticator(a, s.Issuers, "", in.Lookups))
	}
	if err := o.externalTokens(a, in, configured); err != nil {
		return nil, err
	}
	a.combine(append(accounts, o.bootstrapTokens(a, in.Lookups)...))
	return a, nil
}

// combine sets Request and Token from the parts and the authenticators of stored tokens.
func (a *Authenticators) combine(stored []authentication.Token) {
	p := &a.parts
	union := authentication.AuthenticatedTokenGroup(authentication.UnionToken(slices.Concat(p.first, stored, p.last)...))
	requests := append(slices.Clip(p.certificates), authentication.Bearer(union), authentication.WebSocket(union))
	a.Request = authentication.UnionFailFirst(authentication.AuthenticatedGroup(authentication.Union(requests...)),
		p.anonymous)
	a.Token = authentication.HeaderToken(a.Request)
}

// bootstrapTokens returns the authenticator of bootstrap tokens, if they are enabled.
func (o *Authentication) bootstrapTokens(a *Authenticators, lookups Lookups) []authentication.Token {
	if !o.BootstrapToken {
		return nil
	}
	get := func(ctx context.Context, name string) (*corev1.Secret, error) {
		return lookups.GetSecret(ctx, metav1.NamespaceSystem, name)
	}
	return []authentication.Token{authentication.ForAudiences(a.Audiences, authentication.BootstrapToken(get))}
}

// Nested returns the authenticators of a chain behind this one's filters: a shares those of users, and stored tokens
// are those of the chain. path is appended to the issuers, so that a token of one chain is not one of another.
func (o *Authentication) Nested(a *Authenticators, path string, lookups Lookups) *Authenticators {
	nested := *a
	nested.background, nested.closers, nested.Audiences = nil, nil, o.ServiceAccount.NestedIssuers(path)
	nested.parts.first = authentication.InsteadOf(a.Audiences, nested.Audiences, a.parts.first)
	nested.parts.last = authentication.InsteadOf(a.Audiences, nested.Audiences, a.parts.last)
	var stored []authentication.Token
	if a.Keys != nil {
		stored = append(stored, o.ServiceAccount.authenticator(&nested, nested.Audiences, NestedLegacyIssuer(path),
			lookups))
	}
	nested.combine(append(stored, o.bootstrapTokens(&nested, lookups)...))
	return &nested
}

// certificates returns the authenticators of client certificates.
func (o *Authentication) certificates(a *Authenticators,
	features func(gate string) bool) (requests []authentication.Request, err error) {
	if o.RequestHeader.ClientCAFile != "" {
		if a.RequestHeaderCA, err = authentication.NewCABundle(o.RequestHeader.ClientCAFile); err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		config := o.RequestHeader.config()
		if !features("RemoteRequestHeaderUID") {
			config.UIDHeaders = nil
		}
		requests = append(requests, authentication.RequestHeader(a.RequestHeaderCA, config))
	}
	if o.ClientCAFile != "" {
		if a.ClientCA, err = authentication.NewCABundle(o.ClientCAFile); err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		requests = append(requests, authentication.X509(a.ClientCA, features("AllowParsingUserUIDFromCertAuth")))
	}
	if bundles := a.bundles(); len(bundles) > 0 {
		a.Authorities = authentication.UnionPool(bundles...)
	}
	return requests, nil
}

// externalTokens creates the authenticators of tokens that are not stored; configured is that of external issuers. The
// webhook comes last, because it receives the token.
func (o *Authentication) externalTokens(a *Authenticators, in AuthenticationInputs,
	configured authentication.Token) error {
	p := &a.parts
	if o.TokenFile != "" {
		file, err := authentication.ReadTokenFile(o.TokenFile)
		if err != nil {
			return fmt.Errorf("--token-auth-file: %w", err)
		}
		p.first = append(p.first, authentication.ForAudiences(a.Audiences, file))
	}
	p.last = append(p.last, authentication.ForAudiences(a.Audiences, configured))
	if o.Webhook.ConfigFile == "" {
		return nil
	}
	caller, err := webhook.NewCaller(o.Webhook.ConfigFile, in.Egress.DialControlPlane)
	if err != nil {
		return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
	}
	token, err := webhook.Token(caller, o.Webhook.Version, a.Audiences)
	if err != nil {
		return fmt.Errorf("--authentication-token-webhook-version: %w", err)
	}
	cache := authentication.NewTokenCache(token, o.Webhook.CacheTTL)
	cache.Count(in.TokenCache)
	p.last = append(p.last, cache)
	return nil
}

func (h RequestHeader) config() authentication.RequestHeaderConfig {
	return authentication.RequestHeaderConfig{
		UsernameHeaders:     h.UsernameHeaders,
		UIDHeaders:          h.UIDHeaders,
		GroupHeaders:        h.GroupHeaders,
		ExtraHeaderPrefixes: h.ExtraHeaderPrefixes,
		AllowedNames:        h.AllowedNames,
	}
}
