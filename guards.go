package triplane

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/aggregator"
	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/guard/admission/configured"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authentication"
	authzconfig "triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/admission"
	"triplane.dev/kubeapi/admissionregistration"
)

// guards decide on requests, and record them.
type guards struct {
	authorization
	authn *authoptions.Authenticators
	// services resolves external API servers and webhooks.
	services  *aggregator.Services
	admission *admission.Plugins
	console   *consoleParts  // nil disables it
	audit     *audit.Auditor // nil disables it
}

// newGuards creates the guards, each from those before it. undo closes what they open.
func newGuards(ctx context.Context, f *foundation, undo *host.Cleanup) (*guards, error) {
	authz, err := newAuthorization(f)
	if err != nil {
		return nil, err
	}
	if err := checkServed(f.options, authz.authorizers.Types); err != nil {
		return nil, err
	}
	authn, err := newAuthentication(ctx, f, authz)
	if err != nil {
		return nil, err
	}
	undo.Add(func() { _ = authn.Close() }) // calls of a signer may be in flight
	services, err := newServices(f)
	if err != nil {
		return nil, err
	}
	plugins, err := newAdmission(f, authz, services)
	if err != nil {
		return nil, err
	}
	console := newConsole(f.options, f.lookups())
	auditor, err := f.options.Audit.Build(audit.NewMetrics(f.config.Metrics), f.egress, console.auditors()...)
	if err != nil {
		return nil, err
	}
	return &guards{authz, authn, services, plugins, console, auditor}, nil
}

// guard returns the complete configuration of the servers: that of the foundation with the guards.
func (g *guards) guard(f *foundation) *server.Config {
	c := *f.config
	c.Authorization, c.RuleResolver = g.authorizers.Authorizer, g.authorizers.RuleResolver
	c.Admission = g.admission.Chain
	c.ReadyChecks = append(slices.Clip(c.ReadyChecks), healthz.NamedCheck("informer-sync", func() error {
		return errors.Join(f.store.Following(), g.admission.Following())
	}))
	c.PostStartHooks = slices.Concat([]server.PostStartHook{g.admission.StartHook()}, c.PostStartHooks,
		[]server.PostStartHook{g.startHook})
	if f.nested == nil {
		g.guardProcess(f, &c)
	}
	return &c
}

// guardProcess completes the configuration of the root chain, which has the filters for all chains.
func (g *guards) guardProcess(f *foundation, c *server.Config) {
	c.Authentication, c.APIAudiences = g.authn.Request, g.authn.Audiences
	c.Serving.CurrentClientCAs = g.authn.Authorities
	c.RunInBackground("start-authorization-config-reload", g.authorizers.Background)
	c.RunInBackground("start-token-issuers", g.authn.Background())
	c.Audit = g.audit
	g.console.configure(c)
	g.dispatchWorkspaces(f, c)
}

// authorization are the authorizers.
type authorization struct {
	authorizers *authoptions.Authorizers
	// inEffect returns when RBAC enforces roles and bindings; nil without RBAC.
	inEffect func(context.Context, []metav1.Object) error
	// startHook starts the authorizers that watch objects.
	startHook server.PostStartHook
	// admits reports whether a binding of other than the default policy names a user; nil for the root chain.
	admits func(context.Context, *user.Info) (bool, error)
}

func newAuthorization(f *foundation) (authorization, error) {
	own := newAuthorizers(f.stores, rbac.New(), f.options)
	all, err := f.options.Authorization.Build(authoptions.AuthorizationInputs{Given: own.modes(),
		Metrics: f.config.Metrics, ServerID: f.serverID, Egress: f.egress})
	if err != nil {
		return authorization{}, err
	}
	withRBAC := slices.Contains(all.Types, authzconfig.RBAC)
	a := authorization{authorizers: all, startHook: own.startHook(withRBAC)}
	if withRBAC {
		a.inEffect = own.policyInEffect
	}
	return a, nil
}

// newAuthentication returns the authenticators, which the caller must close.
func newAuthentication(ctx context.Context, f *foundation, authz authorization) (*authoptions.Authenticators, error) {
	return f.options.Authentication.Build(ctx, authoptions.AuthenticationInputs{
		Lookups: f.lookups(), Metrics: f.config.Metrics, TokenCache: authentication.NewTokenCacheMetrics(f.config.Metrics),
		ServerID: f.serverID, AlwaysAllowed: slices.Contains(authz.authorizers.Types, authzconfig.AlwaysAllow),
		Egress: f.egress, Features: f.options.Compatibility.Enabled,
	})
}

func newServices(f *foundation) (*aggregator.Services, error) {
	toEndpoints := f.options.Kube.AggregatorRouting || f.options.Etcd.Embedded() // a single server has no kube-proxy
	return aggregator.NewServices(informers.NewFactory(f.stores.Source), toEndpoints, f.egress)
}

func newAdmission(f *foundation, authz authorization, services *aggregator.Services) (*admission.Plugins, error) {
	o, enabled := f.options, f.options.Admission.Enabled()
	configurations := f.process.admission
	if f.nested == nil {
		var err error
		if configurations, err = configuration.Read(o.Admission.ConfigFile, enabled); err != nil {
			return nil, err
		}
		// Tenants choose the webhooks of workspaces, so these get no credentials.
		f.process.admission = configurations.Without(configured.MutatingPolicy, configured.ValidatingPolicy,
			configured.MutatingWebhook, configured.ValidatingWebhook)
	}
	return admission.New(admission.Dependencies{
		Stores:         f.stores,
		Authorizer:     authz.authorizers.Authorizer,
		Groups:         f.config.Discovery,
		Services:       services,
		Loopback:       f.config.LoopbackClientConfig,
		Tolerations:    o.Kube.Tolerations,
		Configurations: configurations,
		FeatureEnabled: o.Compatibility.Enabled,
		Metrics:        f.config.Metrics.Registry,
		Manifests:      newManifests(f),
		OnDemand:       f.nested != nil,
		Own:            o.internal.plugins,
	}, func(name string) bool { return slices.Contains(enabled, name) })
}

// newManifests configures webhooks and policies from files; nil if the feature gate is off, and in workspaces.
func newManifests(f *foundation) *configured.Manifests {
	if f.nested != nil || !f.options.Compatibility.Enabled("ManifestBasedAdmissionControlConfig") {
		return nil
	}
	return &configured.Manifests{Complete: admissionregistration.Complete, Metrics: f.config.Metrics,
		ServerID: f.serverID}
}
