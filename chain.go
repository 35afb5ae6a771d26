package triplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane/aggregator"
	"triplane/apiextensions"
	"triplane/generic/api/discovery"
	"triplane/generic/api/openapi"
	"triplane/generic/api/openapi/models"
	"triplane/generic/base/egress"
	"triplane/generic/guard/admission/configuration"
	"triplane/generic/guard/admission/configured"
	"triplane/generic/guard/authentication/serviceaccount"
	authzconfig "triplane/generic/guard/authorization/configuration"
	"triplane/generic/run/host"
	"triplane/generic/run/options"
	"triplane/generic/run/pki"
	"triplane/generic/serve/server"
	"triplane/generic/storage/etcd"
	"triplane/kubeapi"
	"triplane/kubeapi/admission"
	"triplane/kubeapi/admissionregistration"
	"triplane/kubeapi/bootstrap"
	"triplane/kubeapi/group"
	"triplane/kubeapi/kubelet"
)

// parts are the components of the servers of a chain. Each is created from those before it.
type parts struct {
	options *Options
	store   *host.Store
	files   pki.Files // generated keys and certificates
	config  *server.Config
	egress  *egress.Selector // nil connects directly
	undo    *host.Cleanup

	scheme    *runtime.Scheme
	schemas   *models.Source
	converter func() (managedfields.TypeConverter, error)

	// stores is filled after it was passed on. While core builds its groups, it adds the storage of each resource.
	// Authenticators and admission plugins, which core needs, read the storage later, during requests.
	stores *group.Stores
	authn  *options.Authenticators
	// authorizers are the types of the authorizers other than webhooks.
	authorizers []string
	// policyInEffect returns when RBAC enforces roles and bindings.
	policyInEffect func(context.Context, []metav1.Object) error
	// services resolves external API servers and webhooks.
	services *aggregator.Services
}

// makeShared creates all components that the servers share. It needs config.
func (p *parts) makeShared(ctx context.Context) error {
	c := p.config
	p.scheme, p.stores = kubeapi.NewScheme(), group.NewStores()
	p.schemas = &models.Source{NoEnums: !p.options.Compatibility.Enabled("OpenAPIEnums")}
	for _, add := range []func(*runtime.Scheme) error{apiregistrationv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(p.scheme); err != nil {
			return err
		}
	}
	// The converter is created when a managed field is first written.
	p.converter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
		return openapi.NewTypeConverter(p.schemas, p.scheme), nil
	})
	c.OpenAPI = openapi.NewService(openapi.NewBuilder(p.schemas, p.scheme, c.Version.EmulationMajor+"."+
		c.Version.EmulationMinor))
	for _, make := range []func() error{p.makeAuthorization, p.checkServed,
		func() error { return p.makeAuthentication(ctx) }, p.makeServices, p.makeAdmission} {
		if err := make(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parts) makeAuthorization() error {
	c, own := p.config, newAuthorizers(p.options.Kube.RuntimeConfig.Serves, p.options.Compatibility.Enabled)
	authz, err := p.options.Authorization.Build(options.AuthorizationInputs{Given: own.modes(), Metrics: c.Metrics,
		ServerID: p.serverID(), Egress: p.egress})
	if err != nil {
		return err
	}
	c.Authorization, c.RuleResolver, p.authorizers = authz.Authorizer, authz.RuleResolver, authz.Types
	c.PostStartHooks = append(c.PostStartHooks, own.startHook(slices.Contains(p.authorizers, authzconfig.RBAC)))
	p.policyInEffect = own.policyInEffect
	c.RunInBackground("start-authorization-config-reload", authz.Background)
	return nil
}

func (p *parts) makeAuthentication(ctx context.Context) (err error) {
	c := p.config
	if p.authn, err = p.options.Authentication.Build(ctx, options.AuthenticationInputs{
		Lookups: newLookups(p.stores, c.LoopbackClientConfig), Metrics: c.Metrics, TokenCache: c.Metrics.TokenCache,
		ServerID: p.serverID(), AlwaysAllowed: slices.Contains(p.authorizers, authzconfig.AlwaysAllow),
		Egress:   p.egress,
		Features: p.options.Compatibility.Enabled,
	}); err != nil {
		return err
	}
	p.undo.Add(func() { _ = p.authn.Close() }) // calls of a signer may be in flight
	c.Authentication, c.APIAudiences = p.authn.Request, p.authn.Audiences
	c.Serving.CurrentClientCAs = p.authn.Authorities
	c.RunInBackground("start-token-issuers", p.authn.Background())
	return nil
}

// serverID returns the name of this replica's lease.
func (p *parts) serverID() string {
	return bootstrap.NewIdentity(p.stores, p.advertisedToPeers()).Name()
}

func (p *parts) makeAdmission() error {
	c, enabled := p.config, p.options.Admission.Enabled()
	configurations, err := configuration.Read(p.options.Admission.ConfigFile, enabled)
	if err != nil {
		return err
	}
	plugins, err := admission.New(admission.Dependencies{
		Stores:         p.stores,
		Authorizer:     c.Authorization,
		Groups:         c.Discovery,
		Services:       p.services,
		Loopback:       c.LoopbackClientConfig,
		Tolerations:    p.options.Kube.Tolerations,
		Configurations: configurations,
		FeatureEnabled: p.options.Compatibility.Enabled,
		Metrics:        c.Metrics.Admission,
		PodSecurity:    c.Metrics.PodSecurity,
		Manifests:      p.manifests(),
		Own:            p.options.plugins,
	}, func(name string) bool { return slices.Contains(enabled, name) })
	if err != nil {
		return err
	}
	c.Admission = plugins.Chain
	c.ReadyChecks = append(c.ReadyChecks, server.NamedCheck("informer-sync", func() error {
		return errors.Join(p.store.Following(), plugins.Following())
	}))
	c.PostStartHooks = slices.Insert(c.PostStartHooks, 0, plugins.StartHook())
	return nil
}

// manifests configures webhooks and policies from files; nil if the feature gate is off.
func (p *parts) manifests() *configured.Manifests {
	if !p.options.Compatibility.Enabled("ManifestBasedAdmissionControlConfig") {
		return nil
	}
	return &configured.Manifests{Complete: admissionregistration.Complete, Metrics: p.config.Metrics,
		ServerID: p.serverID()}
}

func (p *parts) makeServices() (err error) {
	toEndpoints := p.options.Kube.AggregatorRouting || p.options.Etcd.Embedded() // a single server has no kube-proxy
	p.services, err = aggregator.NewServices(server.SkippingUnreadable(p.config.LoopbackClientConfig), toEndpoints,
		p.egress)
	return err
}

// build creates the servers, the innermost first: extensions, core, aggregator. It returns the outermost.
func (p *parts) build() (*server.GenericAPIServer, error) {
	generic := *p.config
	generic.EnableDiscovery = false // core serves the documents of both
	extensions, err := (&apiextensions.Config{Generic: &generic, Models: p.schemas,
		ServiceResolver: p.services}).Complete().New(server.EmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	core, err := p.core(extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	outermost, err := p.aggregator(core.GenericAPIServer, extensions.CRDsKnown())
	if err != nil {
		return nil, fmt.Errorf("aggregator: %w", err)
	}
	return outermost.GenericAPIServer, nil
}

// core builds the server of the built-in kinds.
func (p *parts) core(delegate server.DelegationTarget) (*kubeapi.Server, error) {
	groups, err := p.groupDeps()
	if err != nil {
		return nil, err
	}
	generic, kube := *p.config, p.options.Kube
	config := &kubeapi.Config{
		Generic:                   &generic,
		Groups:                    groups,
		AdvertiseAddress:          p.options.advertised(),
		AdvertisePort:             p.advertisedPort(),
		Peer:                      p.advertisedToPeers(),
		Replicas:                  kube.replicas(),
		KubernetesServiceNodePort: kube.ServiceNodePort,
		PolicyInForce:             p.policyInEffect,
		RepairEvery:               p.options.repairEvery,
		Leadership:                &kube.Leadership,
		PublishStorageVersions:    true,
		RequestHeader:             p.requestHeader(),
	}
	if p.authn.ClientCA != nil {
		config.ClientCA = p.authn.ClientCA.PEM
	}
	core, err := config.Complete().New(delegate)
	if err != nil {
		return nil, err
	}
	p.installIssuerDiscovery(core.GenericAPIServer)
	return core, nil
}

// groupDeps returns the dependencies of the API groups.
func (p *parts) groupDeps() (group.Deps, error) {
	kube, accounts := p.options.Kube, p.options.Authentication.ServiceAccount
	cidrs, err := kube.serviceCIDRs()
	if err != nil {
		return group.Deps{}, err
	}
	reach := kube.Kubelet
	if p.options.Egress.ConfigFile != "" {
		reach.Dial = p.egress.DialCluster
	}
	kubelets, err := kubelet.New(reach)
	if err != nil {
		return group.Deps{}, err
	}
	return group.Deps{
		Stores:        p.stores,
		Scheme:        p.scheme,
		Enabled:       p.options.Compatibility.Enabled,
		Serves:        kube.RuntimeConfig.Serves,
		Release:       p.options.release(),
		TypeConverter: p.converter,

		TokenAuthenticator: p.authn.Token,
		APIAudiences:       p.authn.Audiences,
		TokenIssuer:        serviceaccount.NewIssuer(accounts.Issuers[0], p.authn.Signer),
		MaxTokenLifetime:   p.authn.MaxTokenLifetime,
		ExtendTokens:       accounts.ExtendTokenExpiration,
		ExtendedLifetime:   p.authn.ExtendedTokenLifetime,

		StorageHealth:   p.storageHealth,
		ServiceCIDRs:    cidrs,
		NodePortRange:   kube.ServiceNodePorts,
		EventTTL:        kube.EventTTL,
		AllowPrivileged: kube.AllowPrivileged,
		Kubelets:        kubelets,
	}, nil
}

func (p *parts) storageHealth(ctx context.Context) error {
	o := p.options.Etcd
	return etcd.Check(ctx, p.store.Backend(), o.AbsolutePrefix(), o.HealthCheckTimeout)
}

// requestHeader returns the published configuration of front proxies; nil without front proxies.
func (p *parts) requestHeader() *kubeapi.RequestHeader {
	if p.authn.RequestHeaderCA == nil {
		return nil
	}
	h := p.options.Authentication.RequestHeader
	return &kubeapi.RequestHeader{
		ClientCA:            p.authn.RequestHeaderCA.PEM,
		AllowedNames:        h.AllowedNames,
		UsernameHeaders:     h.UsernameHeaders,
		UIDHeaders:          h.UIDHeaders,
		GroupHeaders:        h.GroupHeaders,
		ExtraHeaderPrefixes: h.ExtraHeaderPrefixes,
	}
}

// installIssuerDiscovery serves the OIDC discovery of service account tokens, if the issuer is a URL.
func (p *parts) installIssuerDiscovery(s *server.GenericAPIServer) {
	o := p.options.Authentication.ServiceAccount
	d, err := serviceaccount.NewDiscovery(o.Issuers[0], o.JWKSURI, p.config.ExternalAddress, p.authn.Keys)
	if err != nil {
		klog.InfoS("Disabled OIDC discovery of service account tokens", "issuer", o.Issuers[0], "reason", err)
		return
	}
	d.Install(s.Handler.GoRestfulContainer)
}

// aggregator builds the outermost server, whose discovery lists all groups.
func (p *parts) aggregator(
	delegate server.DelegationTarget, localComplete <-chan struct{},
) (*aggregator.Server, error) {
	kube, headers := p.options.Kube, p.options.Authentication.RequestHeader
	cert, err := kube.proxyClientCert()
	if err != nil {
		return nil, err
	}
	peers, err := p.peers()
	if err != nil {
		return nil, err
	}
	generic := *p.config
	generic.Discovery, generic.EnableDiscovery = discovery.NewGroups(), false
	return (&aggregator.Config{
		Generic:         &generic,
		TypeConverter:   p.converter,
		Local:           p.config.Discovery,
		LocalComplete:   localComplete,
		ProxyClientCert: cert,
		Services:        p.services,
		Peers:           peers,
		IdentityHeaders: aggregator.IdentityHeaders{
			Names:    slices.Concat(headers.UsernameHeaders, headers.UIDHeaders, headers.GroupHeaders),
			Prefixes: headers.ExtraHeaderPrefixes,
		},
		RejectForwardingRedirects: kube.RejectRedirects,
	}).Complete().New(delegate)
}

// proxyClientCert returns the client certificate for external API servers: that of the flags, or an empty one,
// which sends none.
func (k *Kube) proxyClientCert() (aggregator.ClientCertificate, error) {
	if k.ProxyClientCertFile == "" {
		return func() (*tls.Certificate, error) { return &tls.Certificate{}, nil }, nil
	}
	cert, err := server.NewCertificates(server.CertificateFiles{CertFile: k.ProxyClientCertFile,
		KeyFile: k.ProxyClientKeyFile})
	if err != nil {
		return nil, fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	return cert.Default, nil
}

// advertised returns the address for the endpoints of the Service kubernetes; nil if this server has only a
// loopback address or publishes none.
func (o *Options) advertised() net.IP {
	ip := o.ServerRun.AdvertiseAddress
	if ip.IsLoopback() || o.Kube.EndpointReconciler == ReconcilerNone {
		return nil
	}
	return ip
}
