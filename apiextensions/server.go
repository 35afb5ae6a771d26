package apiextensions

import (
	"context"
	"sync"

	"github.com/tidwall/btree"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	restclient "k8s.io/client-go/rest"

	"triplane/apiextensions/controllers"
	crdopenapi "triplane/apiextensions/openapi"
	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/generic/server"
	"triplane/generic/storage"
)

// Config is what the server of CustomResourceDefinitions is made of.
type Config struct {
	Generic *server.Config
	// Models describe the types of the API machinery; the servers of a process
	// share one Source. Nil makes one.
	Models *models.Source
	// ServiceResolver finds where conversion webhooks that are named by a
	// service listen. Nil resolves to the service's DNS name.
	ServiceResolver ServiceResolver
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct {
	generic  server.CompletedConfig
	models   *models.Source
	resolver ServiceResolver
}

// Server is the CRD server.
type Server struct {
	GenericAPIServer *server.GenericAPIServer

	definitions *registry.Store[definitionObject]
	handler     *crHandler
	publisher   *publisher
	prefix      string // of the keys of CRDs
	known       chan struct{}
}

// Complete fills in what was left open, on a copy.
func (c *Config) Complete() CompletedConfig {
	m := c.Models
	if m == nil {
		m = &models.Source{}
	}
	return CompletedConfig{generic: c.Generic.Complete(), models: m, resolver: c.ServiceResolver}
}

// New makes the server in front of a delegate. CRDs are served from the time
// its post-start hook has run.
func (c CompletedConfig) New(delegate server.DelegationTarget) (*Server, error) {
	generic, err := c.generic.New("apiextensions-apiserver", delegate)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apiextensionsv1beta1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	s := &Server{GenericAPIServer: generic, known: make(chan struct{})}
	config := generic.Config()
	if err := s.installDefinitions(config, scheme, c.models); err != nil {
		return nil, err
	}
	s.handler = newHandler(generic, config, c.models, c.resolver)
	s.handler.delegate = delegate.UnprotectedHandler()
	s.publisher = newPublisher(config.Discovery)
	if service := config.OpenAPI; service != nil {
		s.publisher.changed = func(gv schema.GroupVersion, crds func() []definitionObject) {
			service.Set("apis/"+gv.String(), crdopenapi.NewSource(c.models, gv, crds))
		}
		s.publisher.gone = func(gv schema.GroupVersion) { service.Remove("apis/" + gv.String()) }
	}
	generic.Handler.NonGoRestfulMux.UnlistedHandlePrefix("/apis/", s.handler)
	// All three are over when the CRDs that exist are served; probes may ask for
	// any of them.
	for _, h := range []struct {
		name string
		hook server.PostStartHookFunc
	}{
		{"start-apiextensions-informers", s.waitKnown},
		{"start-apiextensions-controllers", s.start},
		{"crd-informer-synced", s.waitKnown},
	} {
		if err := generic.AddPostStartHook(h.name, h.hook); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// waitKnown waits for the CRDs that exist.
func (s *Server) waitKnown(ctx server.HookContext) error {
	select {
	case <-s.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CRDsKnown is closed once all CRDs that existed at the start are in discovery.
func (s *Server) CRDsKnown() <-chan struct{} { return s.known }

func (s *Server) installDefinitions(config *server.Config, scheme *runtime.Scheme, m *models.Source) error {
	kind := crdKind()
	opts, err := config.RESTOptionsGetter.GetRESTOptions(schema.GroupResource{Group: kind.Hub.Group, Resource: kind.Plural})
	if err != nil {
		return err
	}
	if s.definitions, err = registry.NewStore(kind, scheme, opts); err != nil {
		return err
	}
	s.prefix = opts.Prefix + "/" + kind.Prefix + "/"
	gv := apiextensionsv1.SchemeGroupVersion
	return s.GenericAPIServer.InstallAPIGroups(&server.APIGroupInfo{
		PrioritizedVersions:          []schema.GroupVersion{gv},
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{gv.Version: definitionStorage(s.definitions, gv)},
		Scheme:                       scheme,
		SchemeName:                   schemeName,
		TypeConverter: sync.OnceValues(func() (managedfields.TypeConverter, error) {
			return openapi.NewTypeConverter(m, scheme), nil
		}),
	})
}

// definitionsREST is the storage of CRDs, which tells what version they are kept
// in.
type definitionsREST struct {
	*registry.Store[definitionObject]
}

func (definitionsREST) StorageVersion() schema.GroupVersionKind {
	return apiextensionsv1beta1.SchemeGroupVersion.WithKind(crdGVK.Kind)
}

func definitionStorage(store *registry.Store[definitionObject], gv schema.GroupVersion) map[string]rest.Storage {
	all := store.Storage(gv)
	all[store.Kind().Plural] = definitionsREST{store}
	return all
}

func newHandler(generic *server.GenericAPIServer, config *server.Config, m *models.Source, resolver ServiceResolver) *crHandler {
	h := &crHandler{
		discovery: config.Discovery,
		options:   config.RESTOptionsGetter,
		shared:    &shared{endpoints: generic.Endpoints(), types: newTypeConverters(m)},
	}
	h.converters = &converterFactory{resolver: resolver}
	h.resources.Store(new(btree.Map[string, *resource]))
	return h
}

// start runs the controller, and returns when the CRDs that there are are
// served.
func (s *Server) start(ctx server.HookContext) error {
	client, err := statusClient(ctx.LoopbackClientConfig)
	if err != nil {
		return err
	}
	c := controllers.New(controllers.Config{
		Watch: func(ctx context.Context) (storage.Watch, error) {
			opts := storage.WatchOptions{Initial: true, Bookmarks: true, Freshness: storage.Freshness{Match: storage.Consistent}}
			opts.Prefix = s.prefix
			return s.definitions.Cache().Watch(ctx, opts)
		},
		Decode:          decodeCRD,
		Client:          client,
		Changed:         s.changed,
		Removed:         s.removed,
		Synced:          func() { close(s.known) },
		DeleteInstances: s.handler.deleteInstances,
		Go:              s.GenericAPIServer.Go,
	})
	s.GenericAPIServer.Go(c.Run)
	s.GenericAPIServer.Go(s.handler.sweepIdle)
	select {
	case <-s.known:
	case <-ctx.Done():
	}
	return nil
}

func (s *Server) changed(crd definitionObject) {
	s.handler.set(crd)
	s.publisher.set(crd)
}

func (s *Server) removed(crd definitionObject) {
	s.handler.remove(crd.Name)
	s.publisher.remove(crd)
}

// statusClient writes status as the server itself, which shows in managed
// fields.
func statusClient(config *restclient.Config) (controllers.Client, error) {
	own := restclient.CopyConfig(config)
	own.UserAgent = "kube-apiserver/triplane"
	own.QPS = -1
	set, err := clientset.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	return set.ApiextensionsV1().CustomResourceDefinitions(), nil
}
