package authoptions

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	authnwebhook "triplane.dev/generic/guard/authentication/webhook"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/guard/authorization/webhook"
)

// DelegatedAuthorization configures the authorization of an extension API server: the core API server authorizes
// (SubjectAccessReview). Members of system:masters are always allowed.
type DelegatedAuthorization struct {
	// KubeconfigFile is a kubeconfig; "" uses the pod's service account.
	KubeconfigFile string
	// AllowedTTL and DeniedTTL are how long decisions are cached.
	AllowedTTL, DeniedTTL time.Duration
	// AlwaysAllowPaths are paths that need no authorization; a trailing * matches everything below.
	AlwaysAllowPaths []string
}

// NewDelegatedAuthorization returns the defaults.
func NewDelegatedAuthorization() *DelegatedAuthorization {
	return &DelegatedAuthorization{AllowedTTL: delegatedTTL, DeniedTTL: delegatedTTL,
		AlwaysAllowPaths: []string{"/healthz", "/readyz", "/livez"}}
}

// AddFlags binds the flags.
func (o *DelegatedAuthorization) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.KubeconfigFile, "authorization-kubeconfig", o.KubeconfigFile,
		"Kubeconfig of the core API server, which authorizes requests (SubjectAccessReview). If blank, the "+
			"service account of the server's pod.")
	fs.DurationVar(&o.AllowedTTL, "authorization-webhook-cache-authorized-ttl", o.AllowedTTL,
		"How long to cache the core API server's allow decisions.")
	fs.DurationVar(&o.DeniedTTL, "authorization-webhook-cache-unauthorized-ttl", o.DeniedTTL,
		"How long to cache the core API server's deny decisions.")
	fs.StringSliceVar(&o.AlwaysAllowPaths, "authorization-always-allow-paths", o.AlwaysAllowPaths,
		"Paths that need no authorization.")
}

// Validate returns an error for each invalid value.
func (o *DelegatedAuthorization) Validate() []error {
	var errs []error
	if o.AllowedTTL < 0 || o.DeniedTTL < 0 {
		errs = append(errs,
			errors.New("--authorization-webhook-cache-authorized-ttl and "+
				"--authorization-webhook-cache-unauthorized-ttl cannot be negative"))
	}
	for _, p := range o.AlwaysAllowPaths {
		if star := strings.Index(p, "*"); !strings.HasPrefix(p, "/") || star >= 0 && star < len(p)-1 {
			errs = append(errs,
				fmt.Errorf("--authorization-always-allow-paths: %q is not a path such as /healthz or /healthz/*", p))
		}
	}
	return errs
}

// Build returns the authorizer; m may be nil.
func (o *DelegatedAuthorization) Build(m *metrics.Registry) (authorizer.Authorizer, error) {
	config, err := coreConfig(o.KubeconfigFile, "authorization-kubeconfig")
	if err != nil {
		return nil, err
	}
	if config, err = reviewer(config, "authorization.k8s.io/v1/subjectaccessreviews"); err != nil {
		return nil, err
	}
	caller, err := authnwebhook.NewCallerFor(config, delegatedTimeout)
	if err != nil {
		return nil, err
	}
	asked := webhook.Config{Name: "delegated", Caller: caller, Version: "v1", AllowedTTL: o.AllowedTTL,
		DeniedTTL: o.DeniedTTL}
	if m != nil {
		asked.Metrics = webhook.NewMetrics(m)
	}
	core, err := webhook.New(asked)
	if err != nil {
		return nil, err
	}
	return authorization.Union(authorization.SystemMasters(), authorization.Paths(o.AlwaysAllowPaths), core), nil
}
