package options

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/metrics"
	authnwebhook "triplane/generic/guard/authentication/webhook"
	"triplane/generic/guard/authorization"
	"triplane/generic/guard/authorization/webhook"
)

// DelegatedAuthorization has the core API server decide what clients of an extension API server
// may do. Members of system:masters may do everything.
type DelegatedAuthorization struct {
	// KubeconfigFile is "" in a pod, whose service account is used.
	KubeconfigFile string
	// AllowedTTL and DeniedTTL are how long the answers are kept.
	AllowedTTL, DeniedTTL time.Duration
	// AlwaysAllowPaths are paths for everybody, with * at the end for all below.
	AlwaysAllowPaths []string
}

// NewDelegatedAuthorization returns the defaults.
func NewDelegatedAuthorization() *DelegatedAuthorization {
	return &DelegatedAuthorization{AllowedTTL: delegatedTTL, DeniedTTL: delegatedTTL, AlwaysAllowPaths: []string{"/healthz", "/readyz", "/livez"}}
}

// AddFlags binds the flags.
func (o *DelegatedAuthorization) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.KubeconfigFile, "authorization-kubeconfig", o.KubeconfigFile,
		"File that says how to reach the core API server, which decides what clients may do (SubjectAccessReview). If blank, the service account of the pod that the server runs in.")
	fs.DurationVar(&o.AllowedTTL, "authorization-webhook-cache-authorized-ttl", o.AllowedTTL,
		"How long to keep the core API server's permissions.")
	fs.DurationVar(&o.DeniedTTL, "authorization-webhook-cache-unauthorized-ttl", o.DeniedTTL,
		"How long to keep the core API server's refusals.")
	fs.StringSliceVar(&o.AlwaysAllowPaths, "authorization-always-allow-paths", o.AlwaysAllowPaths,
		"Paths that are served to everybody, without asking the core API server.")
}

// Validate returns what is wrong.
func (o *DelegatedAuthorization) Validate() []error {
	var errs []error
	if o.AllowedTTL < 0 || o.DeniedTTL < 0 {
		errs = append(errs, errors.New("--authorization-webhook-cache-authorized-ttl and --authorization-webhook-cache-unauthorized-ttl cannot be negative"))
	}
	for _, p := range o.AlwaysAllowPaths {
		if star := strings.Index(p, "*"); !strings.HasPrefix(p, "/") || star >= 0 && star < len(p)-1 {
			errs = append(errs, fmt.Errorf("--authorization-always-allow-paths: %q is no path such as /healthz or /healthz/*", p))
		}
	}
	return errs
}

// Build makes the authorizer; nil metrics count nothing.
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
	asked := webhook.Config{Name: "delegated", Caller: caller, Version: "v1", AllowedTTL: o.AllowedTTL, DeniedTTL: o.DeniedTTL}
	if m != nil {
		asked.Metrics = webhook.NewMetrics(m)
	}
	core, err := webhook.New(asked)
	if err != nil {
		return nil, err
	}
	return authorization.Union(authorization.SystemMasters(), authorization.Paths(o.AlwaysAllowPaths), core), nil
}
