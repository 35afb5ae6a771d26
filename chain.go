package triplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"

	"k8s.io/klog/v2"

	"triplane.dev/aggregator"
	"triplane.dev/apiextensions"
	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/secureserving"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/group"
)

// assemble creates the servers in the order of their dependencies, and prepares the outermost one. undo closes what it
// opens.
func assemble(ctx context.Context, f *foundation, undo *host.Cleanup) (*server.PreparedServer, error) {
	g, err := newGuards(ctx, f, undo)
	if err != nil {
		return nil, err
	}
	outermost, err := newServers(f, g)
	if err == nil {
		_, err = addControllers(f, g, outermost)
	}
	if err == nil {
		err = serveWorkspaces(f, g, outermost)
	}
	if err == nil && f.nested == nil {
		err = addManifests(f, outermost)
	}
	if err != nil {
		if g.audit != nil {
			g.audit.Close(context.Background()) // nothing was recorded
		}
		return nil, err
	}
	return outermost.PrepareRun(), nil
}

// newServers creates the servers, the innermost first: extensions, core, aggregator. It returns the outermost.
func newServers(f *foundation, g *guards) (*server.GenericAPIServer, error) {
	config := g.guard(f)
	extensions, err := newExtensions(f, g, config)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	core, err := newCore(f, g, config, extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	outermost, err := newAggregator(f, g, config, localServers{core.GenericAPIServer, extensions.CRDsKnown()})
	if err != nil {
		return nil, fmt.Errorf("aggregator: %w", err)
	}
	if f.nested != nil {
		return outermost.GenericAPIServer, nil
	}
	// These endpoints contain all Secrets and keys: only the administrator's role allows their paths.
	mux := outermost.GenericAPIServer.Handler.NonGoRestfulMux
	if handler := f.store.Snapshots(); handler != nil {
		mux.UnlistedHandle(filters.SnapshotPath, handler)
	}
	if handler := f.store.Members(); handler != nil {
		mux.UnlistedHandle(filters.MembersPath, handler)
	}
	if f.options.Testing.Checkpoints {
		mux.UnlistedHandle(CheckpointsPath, f.checkpoints)
		mux.UnlistedHandlePrefix(CheckpointsPath+"/", f.checkpoints)
	}
	g.console.install(outermost.GenericAPIServer)
	return outermost.GenericAPIServer, nil
}

// newExtensions creates the server of CustomResourceDefinitions and custom resources.
func newExtensions(f *foundation, g *guards, shared *server.Config) (*apiextensions.Server, error) {
	generic := *shared
	generic.EnableDiscovery = false // core serves the documents of both
	return (&apiextensions.Config{Generic: &generic, Types: f.kinds.definitions,
		ServiceResolver: g.services}).Complete().New(server.EmptyDelegate())
}

// newCore creates the server of the built-in kinds.
func newCore(f *foundation, g *guards, shared *server.Config, delegate server.DelegationTarget) (*kubeapi.Server,
	error) {
	generic, kube := *shared, f.options.Kube
	config, err := newKubeConfig(f, g, &generic)
	if err != nil {
		return nil, err
	}
	config.Peer, config.Replicas, config.PolicyInForce = f.peer, kube.replicas(), g.inEffect
	config.Upkeep.Every = f.options.internal.repairEvery
	config.PublishStorageVersions = f.nested == nil
	config.ApplyManifests = f.options.Manifests != "" && f.nested == nil
	if f.nested != nil {
		config.Upkeep.From = f.nested.Work
	} else {
		config.Leadership, config.AdvertiseAddress = &kube.Leadership, f.options.advertised()
	}
	core, err := config.Complete().New(delegate)
	if err != nil {
		return nil, err
	}
	installIssuerDiscovery(f, g.authn.Keys, core.GenericAPIServer)
	return core, f.installWorkspaces(core.GenericAPIServer)
}

// newKubeConfig returns the configuration on which the objects depend that the core server creates for itself.
func newKubeConfig(f *foundation, g *guards, generic *server.Config) (*kubeapi.Config, error) {
	groups, err := newGroupDeps(f, g.authn)
	config := &kubeapi.Config{Generic: generic, Groups: groups, AdvertisePort: f.advertisedPort,
		KubernetesServiceNodePort: f.options.Kube.ServiceNodePort,
		SimulateWorkloads:         f.options.Controllers.SimulateWorkloads}
	config.ClientCA, config.RequestHeader = newAuthenticationInfo(f.options, g.authn)
	return config, err
}

// newGroupDeps returns the dependencies of the API groups.
func newGroupDeps(f *foundation, authn *authoptions.Authenticators) (group.Deps, error) {
	kube, accounts := f.options.Kube, f.options.Authentication.ServiceAccount
	cidrs, err := kube.serviceCIDRs()
	if err != nil {
		return group.Deps{}, err
	}
	kubelets := f.process.kubelets
	if f.nested != nil {
		kubelets = f.process.anonymous
	}
	return group.Deps{
		Stores:        f.stores,
		Scheme:        f.kinds.scheme,
		Enabled:       f.options.Compatibility.Enabled,
		Serves:        kube.RuntimeConfig.Serves,
		Fields:        f.kinds.fields,
		Release:       f.options.release(),
		TypeConverter: f.kinds.converter,

		TokenAuthenticator: authn.Token,
		APIAudiences:       authn.Audiences,
		TokenIssuer:        serviceaccount.NewIssuer(f.issuer(), authn.Signer),
		MaxTokenLifetime:   authn.MaxTokenLifetime,
		ExtendTokens:       accounts.ExtendTokenExpiration,
		ExtendedLifetime:   authn.ExtendedTokenLifetime,

		StorageHealth:   f.storageHealth,
		ServiceCIDRs:    cidrs,
		NodePortRange:   kube.ServiceNodePorts,
		EventTTL:        kube.EventTTL,
		AllowPrivileged: kube.AllowPrivileged,
		Kubelets:        kubelets,
	}, nil
}

// newAuthenticationInfo returns what is published for external API servers: the authority of client certificates and
// the configuration of front proxies, nil where there is none.
func newAuthenticationInfo(o *Options, authn *authoptions.Authenticators) (func() []byte, *kubeapi.RequestHeader) {
	var clientCA func() []byte
	if authn.ClientCA != nil {
		clientCA = authn.ClientCA.PEM
	}
	if authn.RequestHeaderCA == nil {
		return clientCA, nil
	}
	h := o.Authentication.RequestHeader
	return clientCA, &kubeapi.RequestHeader{
		ClientCA:            authn.RequestHeaderCA.PEM,
		AllowedNames:        h.AllowedNames,
		UsernameHeaders:     h.UsernameHeaders,
		UIDHeaders:          h.UIDHeaders,
		GroupHeaders:        h.GroupHeaders,
		ExtraHeaderPrefixes: h.ExtraHeaderPrefixes,
	}
}

// installIssuerDiscovery serves the OIDC discovery of service account tokens, if the issuer is a URL.
func installIssuerDiscovery(f *foundation, keys serviceaccount.Keys, s *server.GenericAPIServer) {
	o := f.options.Authentication.ServiceAccount
	d, err := serviceaccount.NewDiscovery(f.issuer(), o.JWKSURI, f.config.ExternalAddress, keys)
	if err != nil {
		klog.InfoS("Disabled OIDC discovery of service account tokens", "issuer", f.issuer(), "reason", err)
		return
	}
	s.Handler.Add(d.Services()...)
}

// localServers are the servers of this process behind the aggregator.
type localServers struct {
	outermost server.DelegationTarget
	complete  <-chan struct{} // closed when they serve all stored CustomResourceDefinitions
}

// newAggregator creates the outermost server, whose discovery lists all groups.
func newAggregator(f *foundation, g *guards, shared *server.Config, local localServers) (*aggregator.Server, error) {
	kube, headers := f.options.Kube, f.options.Authentication.RequestHeader
	cert, err := f.proxyClientCert()
	if err != nil {
		return nil, err
	}
	peers, err := newPeers(f)
	if err != nil {
		return nil, err
	}
	generic := *shared
	generic.Discovery, generic.EnableDiscovery = discovery.NewGroups(), false
	config := &aggregator.Config{
		Generic:         &generic,
		Scheme:          f.kinds.registration,
		TypeConverter:   f.kinds.converter,
		Local:           shared.Discovery,
		LocalComplete:   local.complete,
		ProxyClientCert: cert,
		Services:        g.services,
		Peers:           peers,
		IdentityHeaders: aggregator.IdentityHeaders{
			Names:    slices.Concat(headers.UsernameHeaders, headers.UIDHeaders, headers.GroupHeaders),
			Prefixes: headers.ExtraHeaderPrefixes,
		},
		RejectForwardingRedirects: kube.RejectRedirects,
	}
	if f.nested != nil {
		config.RegisterFrom = f.nested.Work
	}
	return config.Complete().New(local.outermost)
}

// proxyClientCert returns the client certificate for external API servers: that of the flags, or an empty one,
// which sends none. Workspaces have none: their tenants choose the servers, and whoever trusts the certificate, as the
// root does, would trust the identities that tenants impersonate.
func (f *foundation) proxyClientCert() (aggregator.ClientCertificate, error) {
	k := f.options.Kube
	if k.ProxyClientCertFile == "" || f.nested != nil {
		return func() (*tls.Certificate, error) { return &tls.Certificate{}, nil }, nil
	}
	cert, err := secureserving.NewCertificates(secureserving.CertificateFiles{CertFile: k.ProxyClientCertFile,
		KeyFile: k.ProxyClientKeyFile})
	if err != nil {
		return nil, fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	return cert.Default, nil
}

// advertised returns the address for the endpoints of the Service kubernetes; nil if this server has only a
// loopback address or publishes none.
func (o *Options) advertised() net.IP {
	if o.Kube.EndpointReconciler == ReconcilerNone {
		return nil
	}
	return o.reachable()
}

// reachable returns the address of this server for others; nil if it has only a loopback address.
func (o *Options) reachable() net.IP {
	if ip := o.ServerRun.AdvertiseAddress; !ip.IsLoopback() {
		return ip
	}
	return nil
}
