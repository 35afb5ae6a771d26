package options

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/generic/authentication"
	"triplane/generic/authentication/serviceaccount"
	"triplane/generic/authentication/webhook"
)

// Authentication is how clients say who they are.
type Authentication struct {
	Anonymous      bool
	APIAudiences   []string
	ClientCAFile   string
	TokenFile      string
	BootstrapToken bool
	RequestHeader  RequestHeader
	ServiceAccount ServiceAccount
	Webhook        TokenWebhook
}

// TokenWebhook is a service that knows bearer tokens.
type TokenWebhook struct {
	ConfigFile string
	Version    string
	CacheTTL   time.Duration
}

// RequestHeader is how a front proxy says for whom it asks.
type RequestHeader struct {
	ClientCAFile        string
	AllowedNames        []string
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
}

// ServiceAccount is how tokens of service accounts are made and verified.
type ServiceAccount struct {
	Issuers               []string
	KeyFiles              []string
	SigningKeyFile        string
	JWKSURI               string
	Lookup                bool
	MaxExpiration         time.Duration
	ExtendTokenExpiration bool
}

// NewAuthentication returns the defaults.
func NewAuthentication() *Authentication {
	return &Authentication{
		Anonymous:      true,
		ServiceAccount: ServiceAccount{Lookup: true, ExtendTokenExpiration: true},
		Webhook:        TokenWebhook{Version: "v1beta1", CacheTTL: 2 * time.Minute},
	}
}

// AddFlags binds the flags.
func (o *Authentication) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Anonymous, "anonymous-auth", o.Anonymous,
		"Take requests that bring no credential as coming from system:anonymous, in the group system:unauthenticated.")
	fs.StringSliceVar(&o.APIAudiences, "api-audiences", o.APIAudiences,
		"Names of the API, one of which a service account token must be meant for. The issuers if blank.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with the authorities whose client certificates are accepted: the common name is the user, organizations are groups. If blank, a generated authority, with which admin.kubeconfig comes.")
	fs.StringVar(&o.TokenFile, "token-auth-file", o.TokenFile,
		"File with static tokens, a line each: token,user,uid,\"group,group\".")
	fs.BoolVar(&o.BootstrapToken, "enable-bootstrap-token-auth", o.BootstrapToken,
		"Accept secrets of type bootstrap.kubernetes.io/token in kube-system as tokens.")

	fs.StringVar(&o.Webhook.ConfigFile, "authentication-token-webhook-config-file", o.Webhook.ConfigFile,
		"File in kubeconfig format that says which service to ask for tokens that nobody here knows.")
	fs.StringVar(&o.Webhook.Version, "authentication-token-webhook-version", o.Webhook.Version,
		"The version of TokenReview to send to the service: v1 or v1beta1.")
	fs.DurationVar(&o.Webhook.CacheTTL, "authentication-token-webhook-cache-ttl", o.Webhook.CacheTTL,
		"How long to keep the service's answers.")

	h := &o.RequestHeader
	fs.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", h.ClientCAFile,
		"File with the authorities of front proxies, whose --requestheader-username-headers are believed. If blank, a generated authority.")
	fs.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", h.AllowedNames,
		"Common names that a front proxy may have; any if blank.")
	fs.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", h.UsernameHeaders, "Headers with the user name. X-Remote-User is common.")
	fs.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", h.UIDHeaders, "Headers with the user's UID. X-Remote-Uid is common.")
	fs.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", h.GroupHeaders, "Headers with groups. X-Remote-Group is common.")
	fs.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes, "Prefixes of headers with other attributes. X-Remote-Extra- is common.")

	s := &o.ServiceAccount
	fs.StringArrayVar(&s.Issuers, "service-account-issuer", s.Issuers,
		"The issuer (\"iss\") of service account tokens, a URL. May be given several times: the first signs, all are accepted. If blank, https://kubernetes.default.svc.cluster.local.")
	fs.StringArrayVar(&s.KeyFiles, "service-account-key-file", s.KeyFiles,
		"File with keys that verify service account tokens. May be given several times. If blank, the key of --service-account-signing-key-file.")
	fs.StringVar(&s.SigningKeyFile, "service-account-signing-key-file", s.SigningKeyFile,
		"File with the key that signs service account tokens. If blank, a generated key.")
	fs.StringVar(&s.JWKSURI, "service-account-jwks-uri", s.JWKSURI,
		"Where relying parties find the keys, if not at this server.")
	fs.BoolVar(&s.Lookup, "service-account-lookup", s.Lookup,
		"Check that service accounts of tokens exist.")
	fs.DurationVar(&s.MaxExpiration, "service-account-max-token-expiration", s.MaxExpiration,
		"The longest that a token may be valid; longer ones are shortened. 0 is no limit.")
	fs.BoolVar(&s.ExtendTokenExpiration, "service-account-extend-token-expiration", s.ExtendTokenExpiration,
		"Let tokens that are mounted into pods live for a year, with a warning when they are used after the time asked for.")
}

// Validate returns what is wrong.
func (o *Authentication) Validate() []error {
	var errs []error
	for _, issuer := range o.ServiceAccount.Issuers {
		if strings.Contains(issuer, ":") {
			if _, err := url.Parse(issuer); err != nil {
				errs = append(errs, fmt.Errorf("--service-account-issuer %q holds a colon and is no URL: %w", issuer, err))
			}
		}
		if issuer == "" {
			errs = append(errs, fmt.Errorf("--service-account-issuer cannot be an empty string"))
		}
	}
	if len(o.ServiceAccount.KeyFiles) > 0 && o.ServiceAccount.SigningKeyFile == "" {
		errs = append(errs, fmt.Errorf("--service-account-key-file needs --service-account-signing-key-file: with a generated key no token would be verified"))
	}
	if m := o.ServiceAccount.MaxExpiration; m != 0 && (m < time.Hour || m > (1<<32)*time.Second) {
		errs = append(errs, fmt.Errorf("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds"))
	}
	h := o.RequestHeader
	if h.ClientCAFile != "" && len(h.UsernameHeaders) == 0 {
		errs = append(errs, fmt.Errorf("--requestheader-client-ca-file needs --requestheader-username-headers, for example X-Remote-User"))
	}
	if h.ClientCAFile != "" && h.ClientCAFile == o.ClientCAFile && len(h.AllowedNames) == 0 {
		errs = append(errs, fmt.Errorf("--requestheader-client-ca-file and --client-ca-file are the same file, so --requestheader-allowed-names must say who is a proxy: every client could call itself anybody"))
	}
	return errs
}

// Lookups are the objects that tokens are checked against.
type Lookups interface {
	serviceaccount.Getter
}

// Authenticators is what the options come to.
type Authenticators struct {
	Request authentication.Request
	// Token answers TokenReviews.
	Token authentication.Token
	// Audiences that tokens must be meant for.
	Audiences []string
	// ClientCA and RequestHeaderCA are published for external API servers; nil
	// where not configured.
	ClientCA, RequestHeaderCA *authentication.CABundle
	// Authorities are those of clients and front proxies, as they are now; nil
	// where there are none.
	Authorities func() *x509.CertPool
	// SigningKey and Keys sign and verify service account tokens.
	SigningKey crypto.Signer
	Keys       []serviceaccount.PublicKey
}

func (a *Authenticators) bundles() (all []*authentication.CABundle) {
	for _, b := range []*authentication.CABundle{a.ClientCA, a.RequestHeaderCA} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// Build reads the files and makes the authenticators.
func (o *Authentication) Build(lookups Lookups) (*Authenticators, error) {
	a := &Authenticators{Audiences: o.APIAudiences}
	if len(a.Audiences) == 0 {
		a.Audiences = o.ServiceAccount.Issuers
	}
	var requests []authentication.Request
	var err error
	if o.RequestHeader.ClientCAFile != "" {
		if a.RequestHeaderCA, err = authentication.NewCABundle(o.RequestHeader.ClientCAFile); err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		requests = append(requests, authentication.RequestHeader(a.RequestHeaderCA, o.RequestHeader.config()))
	}
	if o.ClientCAFile != "" {
		if a.ClientCA, err = authentication.NewCABundle(o.ClientCAFile); err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		requests = append(requests, authentication.X509(a.ClientCA))
	}
	if bundles := a.bundles(); len(bundles) > 0 {
		a.Authorities = authentication.UnionPool(bundles...)
	}
	tokens, err := o.tokens(a, lookups)
	if err != nil {
		return nil, err
	}
	requests = append(requests, authentication.Bearer(tokens), authentication.WebSocket(tokens))

	a.Request = authentication.AuthenticatedGroup(authentication.Union(requests...))
	if o.Anonymous {
		a.Request = authentication.UnionFailFirst(a.Request, authentication.Anonymous())
	}
	a.Token = authentication.HeaderToken(a.Request)
	return a, nil
}

func (o *Authentication) tokens(a *Authenticators, lookups Lookups) (authentication.Token, error) {
	var tokens []authentication.Token
	if o.TokenFile != "" {
		file, err := authentication.ReadTokenFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-auth-file: %w", err)
		}
		tokens = append(tokens, authentication.ForAudiences(a.Audiences, file))
	}
	s := &o.ServiceAccount
	if s.SigningKeyFile != "" {
		var err error
		if a.SigningKey, err = serviceaccount.ReadPrivateKey(s.SigningKeyFile); err != nil {
			return nil, fmt.Errorf("--service-account-signing-key-file: %w", err)
		}
		files := s.KeyFiles
		if len(files) == 0 {
			files = []string{s.SigningKeyFile}
		}
		if a.Keys, err = serviceaccount.ReadPublicKeys(files...); err != nil {
			return nil, fmt.Errorf("--service-account-key-file: %w", err)
		}
		tokens = append(tokens, serviceaccount.NewAuthenticator(serviceaccount.Config{
			Issuers: s.Issuers, Keys: a.Keys, Audiences: a.Audiences, Getter: lookups, Lookup: s.Lookup,
		}))
	}
	if o.BootstrapToken {
		get := func(ctx context.Context, name string) (*corev1.Secret, error) {
			return lookups.GetSecret(ctx, metav1.NamespaceSystem, name)
		}
		tokens = append(tokens, authentication.ForAudiences(a.Audiences, authentication.BootstrapToken(get)))
	}
	if o.Webhook.ConfigFile != "" {
		caller, err := webhook.NewCaller(o.Webhook.ConfigFile)
		if err != nil {
			return nil, fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
		}
		token, err := webhook.Token(caller, o.Webhook.Version, a.Audiences)
		if err != nil {
			return nil, fmt.Errorf("--authentication-token-webhook-version: %w", err)
		}
		tokens = append(tokens, authentication.NewTokenCache(token, o.Webhook.CacheTTL))
	}
	return authentication.AuthenticatedTokenGroup(authentication.UnionToken(tokens...)), nil
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
