package aggregator

import (
	"context"
	"errors"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	apiregistrationlisters "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"triplane.dev/aggregator/peermetrics"
	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/follow"
)

// Config is the configuration of the aggregator.
type Config struct {
	// Generic is the configuration of the server. The aggregator maintains its Discovery, which clients see.
	Generic *server.Config
	// Scheme has the types of APIServices (NewScheme).
	Scheme *runtime.Scheme
	// TypeConverter returns the schema of APIServices for managed fields.
	TypeConverter func() (managedfields.TypeConverter, error)
	// Local is the discovery of the delegates.
	Local *discovery.Groups
	// LocalComplete is closed when Local contains all CRDs that existed at the start; nil without CRDs.
	LocalComplete <-chan struct{}
	// ProxyClientCert is the client certificate for external servers.
	ProxyClientCert ClientCertificate
	// IdentityHeaders are removed from proxied requests.
	IdentityHeaders IdentityHeaders
	// Services resolves external servers; the aggregator stops it at shutdown.
	Services *Services
	// Peers are the other servers of the same storage; nil disables proxying to them.
	Peers *Peers
	// RejectForwardingRedirects rejects redirects of external servers (--aggregator-reject-forwarding-redirect).
	RejectForwardingRedirects bool
	// RegisterFrom is done when the registration of local group versions must begin; nil begins at once. Those of the
	// start are registered already then.
	RegisterFrom context.Context //nolint:containedctx // the begin of work
}

// CompletedConfig is a configuration with all defaults.
type CompletedConfig struct {
	Config
	generic server.CompletedConfig
}

// Complete returns the configuration with defaults for unset fields.
func (c *Config) Complete() CompletedConfig {
	done := CompletedConfig{Config: *c, generic: c.Generic.Complete()}
	if done.LocalComplete == nil {
		closed := make(chan struct{})
		close(closed)
		done.LocalComplete = closed
	}
	return done
}

// Server is the aggregator.
type Server struct {
	GenericAPIServer *server.GenericAPIServer

	config      CompletedConfig
	directory   *directory
	documents   *documents
	peers       *peers // nil without peers
	peerMetrics *peermetrics.Metrics
	services    *informers.Informer
	delivered   cache.DoneChecker // all handlers have received the APIServices that existed at the start
	available   *availability
	register    *autoregister
	stop        context.CancelFunc
}

// New returns the aggregator in front of a delegate.
func (c CompletedConfig) New(delegate server.DelegationTarget) (*Server, error) {
	generic, err := c.generic.New("kube-aggregator", delegate)
	if err != nil {
		return nil, err
	}
	s := &Server{GenericAPIServer: generic, config: c, peerMetrics: peermetrics.New(c.generic.Metrics.Registry)}
	if err := s.install(); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	if !c.generic.Nested {
		if err := c.generic.Metrics.Register(unavailableGauge{s.directory}); err != nil {
			return nil, err
		}
	}
	apis := &directoryHandler{s.directory, delegate.UnprotectedHandler()}
	root := s.directory.rootHandler(s.peerMetrics)
	generic.Handler.NonGoRestfulMux.Handle("/apis", root)
	generic.Handler.NonGoRestfulMux.Handle("/apis/", root)
	generic.Handler.NonGoRestfulMux.UnlistedHandlePrefix("/apis/", apis)
	generic.ListPaths(s.directory.paths)
	return s, s.addHooks()
}

// install serves apiregistration.k8s.io.
func (s *Server) install() error {
	gv := apiregistrationv1.SchemeGroupVersion
	b := server.NewGroupBuilder(server.APIGroupInfo{
		PrioritizedVersions: []schema.GroupVersion{gv},
		Scheme:              s.config.Scheme,
		SchemeName:          "pkg/runtime/scheme.go:111",
		TypeConverter:       s.config.TypeConverter,
	}, s.config.Generic.RESTOptionsGetter)
	store, err := server.AddKind(b, apiServiceKind(), b.Versions())
	if err != nil {
		return err
	}
	s.services = informers.New(func() follow.Source { return store })
	err = s.GenericAPIServer.InstallAPIGroups(b.Info())
	// The aggregator's own group has no APIService, and no APIService may precede it.
	if v, ok := s.config.generic.Discovery.Get(gv); ok {
		v.GroupPriority = math.MaxInt32
		s.config.generic.Discovery.Set(&v)
	}
	return err
}

// WriteLocal creates in an empty storage the APIServices of local group versions. It returns their store.
func WriteLocal(ctx context.Context, scheme *runtime.Scheme, storages registry.RESTOptionsGetter,
	local []discovery.Version) (registry.AnyStore, error) {
	b := server.NewGroupBuilder(server.APIGroupInfo{PrioritizedVersions: []schema.GroupVersion{
		apiregistrationv1.SchemeGroupVersion}, Scheme: scheme}, storages)
	store, err := server.AddKind(b, apiServiceKind(), b.Versions())
	if err != nil {
		return nil, err
	}
	for i := range local {
		s := localAPIService(&local[i])
		if _, err := store.Create(ctx, rest.CreateRequest{Name: s.Name, Object: s}); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// build creates the controllers and registers their event handlers.
func (s *Server) build() error {
	loopback := server.SkippingUnreadable(s.config.Generic.LoopbackClientConfig)
	client, err := clientset.NewForConfig(loopback)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	services := s.config.Services
	identity := newIdentity(s.config.IdentityHeaders)
	certificates := egress.NewAggregatorCertificateMetrics(s.config.generic.Metrics.Registry)
	newProxy := func() *proxyHandler {
		return &proxyHandler{resolver: services, dial: services.DialCluster, identity: identity,
			rejectRedirects: s.config.RejectForwardingRedirects, certificates: certificates}
	}
	f := &fetcher{resolver: services, cert: s.config.ProxyClientCert, dial: services.DialCluster,
		certificates: certificates}
	s.documents = &documents{ctx: ctx, service: s.config.generic.OpenAPI, fetcher: f}
	s.directory = newDirectory(s.config.Local, s.config.generic.Discovery, newProxy, s.config.ProxyClientCert)
	s.usePeers(identity)

	if err := s.services.AddIndexers(cache.Indexers{byBackend: backendIndex}); err != nil {
		return err
	}
	s.available = newAvailability(client.ApiregistrationV1(),
		availabilitySources{s.services.GetIndexer(), services.backends, f},
		availabilityReports{s.setDiscovery, s.directory.answered}, s.config.generic.Metrics.Queues)
	s.register = newAutoregister(client.ApiregistrationV1(),
		apiregistrationlisters.NewAPIServiceLister(s.services.GetIndexer()),
		servedVersions{s.config.Local, s.config.LocalComplete, s.servedByPeers}, s.config.generic.Metrics.Queues)
	registration, err := s.services.AddEventHandler(s.apiServiceHandler())
	if err != nil {
		return err
	}
	s.delivered = registration.HasSyncedChecker()
	return services.backends.onChange(s.available.backendHandler())
}

// usePeers enables proxying to peers.
func (s *Server) usePeers(identity *identity) {
	if s.config.Peers == nil {
		return
	}
	s.peers = newPeers(*s.config.Peers, s.config.ProxyClientCert, s.peerMetrics, s.config.generic.Metrics.Queues,
		s.directory.peersChanged)
	s.directory.own, s.directory.peers = discovery.NewGroups(), newPeerProxy(s.peers, identity)
	if s.config.generic.CBOR {
		s.directory.own.ServeCBOR()
	}
	if v, ok := s.config.generic.Discovery.Get(apiregistrationv1.SchemeGroupVersion); ok {
		s.directory.own.Set(&v)
	}
}

// servedByPeers reports whether a peer serves a group version, once the peers are known.
func (s *Server) servedByPeers(ctx context.Context, gv schema.GroupVersion) bool {
	return s.peers != nil && s.peers.serve(ctx, gv)
}

// apiServiceHandler distributes events of APIServices.
func (s *Server) apiServiceHandler() cache.ResourceEventHandler {
	set := func(a, old *apiregistrationv1.APIService) {
		s.directory.set(a)
		s.documents.set(a)
		s.register.changed(a)
		s.available.changed(a, old)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { set(obj.(*apiregistrationv1.APIService), nil) },
		UpdateFunc: func(old, obj any) {
			set(obj.(*apiregistrationv1.APIService), old.(*apiregistrationv1.APIService))
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			a := obj.(*apiregistrationv1.APIService)
			s.directory.remove(a)
			s.documents.remove(a)
			s.register.changed(a)
			s.available.enqueue(a.Name) // sync removes its state
		},
	}
}

// setDiscovery handles the discovery of an external server.
func (s *Server) setDiscovery(a *apiregistrationv1.APIService, l remoteDiscovery) {
	s.directory.setDiscovery(a, l)
	if l.current {
		s.documents.check(a)
	}
}

// NewScheme returns the scheme of APIServices. The old version is not served, but known, so that a body with it is
// rejected with an error that names it.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiregistrationv1.AddToScheme,
		apiregistrationv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme, nil
}

// addHooks adds a post-start hook for each controller, with kube-apiserver's names.
func (s *Server) addHooks() error {
	for _, h := range []struct {
		name string
		hook server.PostStartHookFunc
	}{
		{"aggregator-reload-proxy-client-cert", func(server.HookContext) error {
			_, err := s.config.ProxyClientCert()
			return err
		}},
		{"start-kube-aggregator-informers", s.startInformers},
		{"apiservice-status-local-available-controller", s.awaitRegistered},
		{"apiservice-status-remote-available-controller", func(ctx server.HookContext) error {
			ctx.Start(s.available.queue)
			return s.awaitDelivered(ctx)
		}},
		{"apiservice-registration-controller", func(ctx server.HookContext) error {
			ctx.Start(s.config.Local.Following(s.localChanged))
			return s.awaitDelivered(ctx)
		}},
		// The directory and the documents are event handlers of APIServices.
		{"apiservice-discovery-controller", s.awaitDelivered},
		{"kube-apiserver-autoregistration", s.startRegistration},
		{"apiservice-openapi-controller", s.awaitDelivered},
		{"apiservice-openapiv3-controller", s.awaitDelivered},
	} {
		if err := s.GenericAPIServer.AddPostStartHook(h.name, h.hook); err != nil {
			return err
		}
	}
	if err := s.addPeerHook(); err != nil {
		return err
	}
	s.GenericAPIServer.AddHealthChecks(healthz.NamedCheck("autoregister-completion", func() error {
		if s.registersLater() {
			return nil
		}
		return s.register.check()
	}))
	return nil
}

func (s *Server) addPeerHook() error {
	if s.peers == nil {
		return nil
	}
	return s.GenericAPIServer.AddPostStartHook("unknown-version-proxy-filter", func(ctx server.HookContext) error {
		ctx.Go(s.peers.run)
		return nil
	})
}

// startInformers starts watching APIServices, and returns when they are synced.
func (s *Server) startInformers(ctx server.HookContext) error {
	ctx.Start(following{s})
	return await(ctx, s.services.HasSyncedChecker().Done(), "APIServices could not be listed")
}

// following is the informer of APIServices as a runner, which releases at its end what the handlers need.
type following struct{ *Server }

// Start implements worker.Runner.
func (f following) Start(ctx context.Context) { f.services.Start(ctx) }

// Wait implements worker.Runner.
func (f following) Wait() {
	f.services.Wait()
	f.stop()
	f.config.Services.stop()
	f.directory.close()
}

// awaitDelivered returns when the directory, the documents and the controllers' queues contain all APIServices
// that existed at the start.
func (s *Server) awaitDelivered(ctx server.HookContext) error {
	return await(ctx, s.delivered.Done(), "APIServices could not be listed")
}

// registersLater reports whether RegisterFrom is not done.
func (s *Server) registersLater() bool {
	return s.config.RegisterFrom != nil && s.config.RegisterFrom.Err() == nil
}

// startRegistration starts to register group versions, or lets RegisterFrom start it.
func (s *Server) startRegistration(ctx server.HookContext) error {
	if err := s.awaitDelivered(ctx); err != nil {
		return err
	}
	if s.registersLater() {
		context.AfterFunc(s.config.RegisterFrom, func() { s.GenericAPIServer.Start(s.register) })
		return nil
	}
	ctx.Start(s.register)
	return s.awaitRegistered(ctx)
}

// awaitRegistered returns when every group version that the delegates serve has an available APIService, or at once if
// they are registered later.
func (s *Server) awaitRegistered(ctx server.HookContext) error {
	if s.registersLater() {
		return nil
	}
	return await(ctx, s.register.done, "local APIServices could not be registered")
}

func await(ctx context.Context, done <-chan struct{}, otherwise string) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New(otherwise)
	}
}

// localChanged updates discovery when that of the delegates changes.
func (s *Server) localChanged(_ context.Context, changed []schema.GroupVersion) {
	for _, gv := range changed {
		s.directory.localChanged(gv)
	}
}
