package aggregator

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	"triplane/generic/discovery"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/generic/server"
)

// Config is what the aggregator is made of.
type Config struct {
	// Generic is the configuration of the server itself; its Discovery is what
	// clients are told, kept by the aggregator.
	Generic *server.Config
	// Scheme knows apiregistration.k8s.io/v1; TypeConverter its schema.
	Scheme        *runtime.Scheme
	TypeConverter func() (managedfields.TypeConverter, error)
	// Local is what the delegates serve.
	Local *discovery.Groups
	// LocalComplete is closed when Local tells of all CRDs that existed at the
	// start; nil where there are none.
	LocalComplete <-chan struct{}
	// ProxyClientCert is shown to external servers.
	ProxyClientCert ClientCertificate
	// RouteToEndpoints reaches external servers at their endpoints rather than
	// the cluster IP of their Service (--enable-aggregator-routing).
	RouteToEndpoints bool
	// RejectForwardingRedirects refuses redirects of external servers
	// (--aggregator-reject-forwarding-redirect).
	RejectForwardingRedirects bool
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct {
	Config
	generic server.CompletedConfig
}

// Complete fills in what was left open.
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

	config    CompletedConfig
	directory *directory
	backends  *backends
	services  cache.SharedIndexInformer
	available *availability
	register  *autoregister
	stop      context.CancelFunc
}

// New makes the aggregator in front of a delegate.
func (c CompletedConfig) New(delegate server.DelegationTarget) (*Server, error) {
	generic, err := c.generic.New("kube-aggregator", delegate)
	if err != nil {
		return nil, err
	}
	s := &Server{GenericAPIServer: generic, config: c}
	if err := s.install(); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	apis := s.directory.handler(delegate.UnprotectedHandler())
	root := c.generic.Discovery.RootHandler()
	generic.Handler.NonGoRestfulMux.Handle("/apis", root)
	generic.Handler.NonGoRestfulMux.UnlistedHandle("/apis/", root)
	generic.Handler.NonGoRestfulMux.UnlistedHandlePrefix("/apis/", apis)
	return s, s.addHooks()
}

// install serves apiregistration.k8s.io.
func (s *Server) install() error {
	gv := apiregistrationv1.SchemeGroupVersion
	opts, err := s.config.Generic.RESTOptionsGetter.GetRESTOptions(schema.GroupResource{Group: gv.Group, Resource: "apiservices"})
	if err != nil {
		return err
	}
	store, err := registry.NewStore(apiServiceKind(), s.config.Scheme, opts)
	if err != nil {
		return err
	}
	return s.GenericAPIServer.InstallAPIGroups(&server.APIGroupInfo{
		PrioritizedVersions:          []schema.GroupVersion{gv},
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{gv.Version: store.Storage(gv)},
		Scheme:                       s.config.Scheme,
		TypeConverter:                s.config.TypeConverter,
	})
}

// build makes the controllers and joins them to the events that they follow.
func (s *Server) build() error {
	loopback := s.config.Generic.LoopbackClientConfig
	client, err := clientset.NewForConfig(loopback)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(loopback)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.backends = newBackends(ctx, kube)
	resolver := NewClusterIPResolver(s.backends.services)
	if s.config.RouteToEndpoints {
		resolver = NewEndpointResolver(s.backends.services, s.backends.slices)
	}
	newProxy := func() *proxyHandler {
		return &proxyHandler{resolver: resolver, rejectRedirects: s.config.RejectForwardingRedirects}
	}
	s.directory = newDirectory(s.config.Local, s.config.generic.Discovery, newProxy, s.config.ProxyClientCert)

	informer := externalversions.NewSharedInformerFactory(client, 0).Apiregistration().V1().APIServices()
	s.services = informer.Informer()
	s.available = newAvailability(client.ApiregistrationV1(), informer.Lister(), s.backends, resolver, s.config.ProxyClientCert, s.directory.learn)
	s.register = newAutoregister(client.ApiregistrationV1(), informer.Lister(), s.config.Local, s.config.LocalComplete)
	if _, err := s.services.AddEventHandler(s.apiServiceHandler()); err != nil {
		return err
	}
	return s.backends.onChange(s.available.backendHandler())
}

// apiServiceHandler tells everybody who follows APIServices of their changes.
func (s *Server) apiServiceHandler() cache.ResourceEventHandler {
	set := func(obj any) {
		a := obj.(*apiregistrationv1.APIService)
		s.directory.set(a)
		s.publishOpenAPI(a)
		s.register.changed(a)
		if a.Spec.Service != nil || !isAvailable(a) || a.Status.Conditions[0].Reason != localCondition().Reason {
			s.available.enqueue(a)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			a := obj.(*apiregistrationv1.APIService)
			s.directory.remove(a)
			s.unpublishOpenAPI(a)
			s.register.changed(a)
		},
	}
}

// addHooks names the controllers as kube-apiserver does.
func (s *Server) addHooks() error {
	g := s.GenericAPIServer
	synced := func(ctx context.Context) error {
		if !cache.WaitForCacheSync(ctx.Done(), s.services.HasSynced) {
			return errors.New("APIServices could not be listed")
		}
		return nil
	}
	hooks := []struct {
		name string
		hook server.PostStartHookFunc
	}{
		{"start-kube-aggregator-informers", func(ctx server.HookContext) error {
			g.Go(s.services.RunWithContext)
			g.Go(func(ctx context.Context) {
				<-ctx.Done()
				s.stop()
				s.backends.shutdown()
				s.directory.close()
			})
			return nil
		}},
		{"apiservice-registration-controller", func(ctx server.HookContext) error {
			g.Go(s.followLocal)
			return synced(ctx)
		}},
		{"apiservice-status-remote-available-controller", func(ctx server.HookContext) error {
			g.Go(s.available.run)
			return nil
		}},
		{"kube-apiserver-autoregistration", func(ctx server.HookContext) error {
			if err := synced(ctx); err != nil {
				return err
			}
			g.Go(s.register.run)
			return nil
		}},
		{"apiservice-wait-for-first-sync", func(ctx server.HookContext) error { return synced(ctx) }},
	}
	for _, h := range hooks {
		if err := g.AddPostStartHook(h.name, h.hook); err != nil {
			return err
		}
	}
	g.AddHealthChecks(server.NamedCheck("autoregister-completion", s.register.check))
	return nil
}

// followLocal tells discovery what changes at the delegates.
func (s *Server) followLocal(ctx context.Context) {
	sub := s.config.Local.Subscribe()
	defer sub.Stop()
	for {
		changed, err := sub.Next(ctx)
		if err != nil {
			return
		}
		for _, gv := range changed {
			s.directory.localChanged(gv)
		}
	}
}
