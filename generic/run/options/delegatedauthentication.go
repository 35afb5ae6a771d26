package options

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane/generic/guard/authentication"
	"triplane/generic/guard/authentication/clusterinfo"
	"triplane/generic/guard/authentication/webhook"
)

// DelegatedAuthentication is how an extension API server knows its clients: it trusts the
// front proxy and the client certificates that the core API server does, and asks that one
// about tokens.
type DelegatedAuthentication struct {
	// KubeconfigFile is "" in a pod, whose service account is used.
	KubeconfigFile string
	// CacheTTL is how long the answers about tokens are kept.
	CacheTTL time.Duration
	// ClientCAFile and RequestHeader are what is trusted beside, or instead of, what the cluster
	// says.
	ClientCAFile  string
	RequestHeader RequestHeader
	// SkipLookup leaves the cluster's config map alone; TolerateLookupFailure starts without it
	// where it cannot be read.
	SkipLookup, TolerateLookupFailure bool
}

// delegatedTTL is how long the core API server's answers are kept unless flags say otherwise.
const delegatedTTL = 10 * time.Second

// lookupTimeout bounds the reading of the config map at the start.
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
		"File that says how to reach the core API server, which is asked about bearer tokens (TokenReview) and has the config map extension-apiserver-authentication. If blank, the service account of the pod that the server runs in.")
	fs.DurationVar(&o.CacheTTL, "authentication-token-webhook-cache-ttl", o.CacheTTL,
		"How long to keep the core API server's answers about tokens.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with authorities whose client certificates are accepted, beside those that the cluster says: the common name is the user, organizations are groups.")
	o.RequestHeader.addFlags(fs, "If blank, what the cluster says.")
	fs.BoolVar(&o.SkipLookup, "authentication-skip-lookup", o.SkipLookup,
		"Do not read the config map extension-apiserver-authentication: only the flags say which client certificates and front proxies are trusted.")
	fs.BoolVar(&o.TolerateLookupFailure, "authentication-tolerate-lookup-failure", o.TolerateLookupFailure,
		"Start even if the config map extension-apiserver-authentication cannot be read. Nobody is known by a certificate, or through the front proxy, until it can be.")
}

// Validate returns what is wrong.
func (o *DelegatedAuthentication) Validate() []error {
	errs := validateRequestHeader(o.RequestHeader, o.ClientCAFile)
	if o.CacheTTL < 0 {
		errs = append(errs, errors.New("--authentication-token-webhook-cache-ttl cannot be negative"))
	}
	return errs
}

// Build reads files and the cluster's config map, and makes the authenticators, which have to be
// closed.
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

// given makes the authenticators of the files that flags name.
func (o *DelegatedAuthentication) given(a *Authenticators) (requests []authentication.Request, bundles []*authentication.CABundle, err error) {
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

// lookUp reads the cluster's config map, and has it followed.
func (o *DelegatedAuthentication) lookUp(ctx context.Context, config *rest.Config, a *Authenticators) (*clusterinfo.Info, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	info := clusterinfo.New()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	switch err := info.Read(ctx, client); {
	case err != nil && !o.TolerateLookupFailure:
		return nil, fmt.Errorf("%w; it says which front proxy is trusted, and is read with the role extension-apiserver-authentication-reader in kube-system. "+
			"--authentication-tolerate-lookup-failure starts without it, --authentication-skip-lookup uses flags instead", err)
	case err != nil:
		klog.ErrorS(err, "Nobody is known by a certificate, or through a front proxy, until this can be read")
	}
	a.background = append(a.background, func(ctx context.Context) { info.Follow(ctx, client) })
	return info, nil
}

// tokens asks the core API server about tokens.
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

// delegatedTimeout bounds each question to the core API server.
const delegatedTimeout = 10 * time.Second
