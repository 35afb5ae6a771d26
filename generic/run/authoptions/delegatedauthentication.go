package authoptions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/clusterinfo"
	"triplane.dev/generic/guard/authentication/webhook"
)

// DelegatedAuthentication configures the authentication of an extension API server. It trusts the same front
// proxies and client CAs as the core API server, and delegates bearer tokens to it (TokenReview).
type DelegatedAuthentication struct {
	// KubeconfigFile is a kubeconfig; "" uses the pod's service account.
	KubeconfigFile string
	// CacheTTL is how long TokenReviews are cached.
	CacheTTL time.Duration
	// ClientCAFile and RequestHeader add to, or replace, the settings of the cluster.
	ClientCAFile  string
	RequestHeader RequestHeader
	// SkipLookup ignores the cluster's config map; TolerateLookupFailure starts without it if it cannot be read.
	SkipLookup, TolerateLookupFailure bool
}

// delegatedTTL is how long reviews are cached by default.
const delegatedTTL = 10 * time.Second

// lookupTimeout bounds reading the config map at start.
const lookupTimeout = 30 * time.Second

// NewDelegatedAuthentication returns the defaults.
func NewDelegatedAuthentication() *DelegatedAuthentication {
	return &DelegatedAuthentication{CacheTTL: delegatedTTL, RequestHeader: RequestHeader{
		UsernameHeaders: []string{"x-remote-user"}, UIDHeaders: []string{"x-remote-uid"},
		GroupHeaders: []string{"x-remote-group"}, ExtraHeaderPrefixes: []string{"x-remote-extra-"},
	}}
}

// AddFlags binds the flags.
func (o *DelegatedAuthentication) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.KubeconfigFile, "authentication-kubeconfig", o.KubeconfigFile,
		"Kubeconfig of the core API server, which authenticates bearer tokens (TokenReview) and has the config "+
			"map extension-apiserver-authentication. If blank, the service account of the server's pod.")
	fs.DurationVar(&o.CacheTTL, "authentication-token-webhook-cache-ttl", o.CacheTTL,
		"How long to cache the core API server's TokenReviews.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with CAs of client certificates, in addition to those of the cluster: the common name is the user, "+
			"organizations are groups.")
	o.RequestHeader.addFlags(fs, "If blank, what the cluster says.")
	fs.BoolVar(&o.SkipLookup, "authentication-skip-lookup", o.SkipLookup,
		"Do not read the config map extension-apiserver-authentication: only flags configure the trusted client "+
			"certificates and front proxies.")
	fs.BoolVar(&o.TolerateLookupFailure, "authentication-tolerate-lookup-failure", o.TolerateLookupFailure,
		"Start even if the config map extension-apiserver-authentication cannot be read. Until it can be read, "+
			"client certificates and front proxies are not accepted.")
}

// Validate returns an error for each invalid value.
func (o *DelegatedAuthentication) Validate() []error {
	errs := validateRequestHeader(o.RequestHeader, o.ClientCAFile)
	if o.CacheTTL < 0 {
		errs = append(errs, errors.New("--authentication-token-webhook-cache-ttl cannot be negative"))
	}
	return errs
}

// Build reads files and the cluster's config map, and creates the authenticators, which the caller must close.
func (o *DelegatedAuthentication) Build(ctx context.Context) (_ *Authenticators, err error) {
	config, err := coreConfig(o.KubeconfigFile, "authentication-kubeconfig")
	if err != nil {
		return nil, err
	}
	a := &Authenticators{}
	requests, bundles, err := o.given(a)
	if err != nil {
		return nil, err
	}
	if !o.SkipLookup {
		info, err := o.lookUp(ctx, config, a)
		if err != nil {
			return nil, err
		}
		if o.RequestHeader.ClientCAFile == "" {
			requests = append(requests, authentication.RequestHeaderNow(info.RequestHeaderCA, info.Headers))
		}
		requests = append(requests, authentication.X509(info.ClientCA, true))
		bundles = append(bundles, info.RequestHeaderCA, info.ClientCA)
	}
	a.Authorities = authentication.UnionPool(bundles...)
	if a.Token, err = o.tokens(config, a); err != nil {
		return nil, err
	}
	requests = append(requests, authentication.Bearer(a.Token), authentication.WebSocket(a.Token))
	a.Request = authentication.UnionFailFirst(
		authentication.AuthenticatedGroup(authentication.Union(requests...)), authentication.Anonymous())
	return a, nil
}

// given returns the authenticators of the files that flags name.
func (o *DelegatedAuthentication) given(a *Authenticators) (requests []authentication.Request,
	bundles []*authentication.CABundle, err error) {
	if file := o.RequestHeader.ClientCAFile; file != "" {
		if a.RequestHeaderCA, err = authentication.NewCABundle(file); err != nil {
			return nil, nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		requests = append(requests, authentication.RequestHeader(a.RequestHeaderCA, o.RequestHeader.config()))
	}
	if o.ClientCAFile != "" {
		if a.ClientCA, err = authentication.NewCABundle(o.ClientCAFile); err != nil {
			return nil, nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		requests = append(requests, authentication.X509(a.ClientCA, true))
	}
	return requests, a.bundles(), nil
}

// lookUp reads the cluster's config map, and starts watching it.
func (o *DelegatedAuthentication) lookUp(ctx context.Context, config *rest.Config,
	a *Authenticators) (*clusterinfo.Info, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	info := clusterinfo.New()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	switch err := info.Read(ctx, client); {
	case err != nil && !o.TolerateLookupFailure:
		return nil, fmt.Errorf("%w; it configures the trusted front proxies and requires the role "+
			"extension-apiserver-authentication-reader in kube-system. "+
			"--authentication-tolerate-lookup-failure starts without it, --authentication-skip-lookup uses flags instead",
			err)
	case err != nil:
		klog.ErrorS(err, "Failed to read extension-apiserver-authentication, rejecting client certificates and front "+
			"proxies until it can be read")
	}
	a.background = append(a.background, func(ctx context.Context) { info.Follow(ctx, client) })
	return info, nil
}

// tokens returns the authenticator that creates TokenReviews.
func (o *DelegatedAuthentication) tokens(config *rest.Config, a *Authenticators) (authentication.Token, error) {
	config, err := reviewer(config, "authentication.k8s.io/v1/tokenreviews")
	if err != nil {
		return nil, err
	}
	caller, err := webhook.NewCallerFor(config, delegatedTimeout)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, func() error {
		caller.Close()
		return nil
	})
	token, err := webhook.Token(caller, "v1", nil)
	if err != nil {
		return nil, err
	}
	return authentication.AuthenticatedTokenGroup(authentication.NewTokenCache(token, o.CacheTTL)), nil
}

// delegatedTimeout bounds each review.
const delegatedTimeout = 10 * time.Second
