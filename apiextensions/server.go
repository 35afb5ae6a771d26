package apiextensions

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/apiextensions/controllers"
	"triplane.dev/apiextensions/conversion"
	"triplane.dev/apiextensions/customresource"
	"triplane.dev/apiextensions/customresourcedefinition"
	crdopenapi "triplane.dev/apiextensions/openapi"
	"triplane.dev/apiextensions/schema/cel"
	"triplane.dev/generic/api/endpoints"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
)

// Config is what the server of CustomResourceDefinitions is made of.
type Config struct {
	Generic *server.Config
	// Types are the Go types and schemas, which the servers of a process share. Nil makes them.
	Types *Types
	// ServiceResolver finds where conversion webhooks that are named by a
	// service listen. Nil resolves to the service's DNS name.
	ServiceResolver ServiceResolver
}

// ServiceResolver finds and dials conversion webhooks.
type ServiceResolver = conversion.ServiceResolver

// Types are the Go types and schemas of CustomResourceDefinitions, and of the API machinery in custom resources. They
// are safe for concurrent use.
type Types struct {
	models    *models.Source
	scheme    *runtime.Scheme
	converter func() (library.TypeConverter, error) // created on the first write
}

// NewTypes returns the types. m describes those of the API machinery.
func NewTypes(m *models.Source) (*Types, error) {
	t := &Types{models: m, scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme} {
		if err := add(t.scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(t.scheme, schema.GroupVersion{Version: "v1"})
	t.converter = sync.OnceValues(func() (library.TypeConverter, error) {
		return managedfields.NewPlanned(openapi.NewTypeConverter(m, t.scheme)), nil
	})
	return t, nil
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct {
	generic  server.CompletedConfig
	types    *Types
	resolver ServiceResolver
}

// Server is the CRD server.
type Server struct {
	GenericAPIServer *server.GenericAPIServer

	definitions *registry.Store[definitionObject]
	status      *customresourcedefinition.StatusWriter // of the definitions
	settled     *customresourcedefinition.Settled
	catalogue   *catalogue
	handler     *crHandler
	union       *union // of the CRDs of several servers; nil for those of one
	prefix      string // of the keys of CRDs
	// known is closed when the CRDs that existed at the start are served, whole when all
	// of them could be read.
	known, whole chan struct{}
}

// Complete fills in what was left open, on a copy.
func (c *Config) Complete() CompletedConfig {
	return CompletedConfig{generic: c.Generic.Complete(), types: c.Types, resolver: c.ServiceResolver}
}

// New makes the server in front of a delegate. CRDs are served from the time
// its post-start hook has run.
func (c CompletedConfig) New(delegate server.DelegationTarget) (*Server, error) {
	generic, err := c.generic.New("apiextensions-apiserver", delegate)
	if err != nil {
		return nil, err
	}
	if c.types == nil {
		if c.types, err = NewTypes(&models.Source{}); err != nil {
			return nil, err
		}
	}
	s := &Server{GenericAPIServer: generic, catalogue: newCatalogue(), settled: customresourcedefinition.NewSettled(),
		known: make(chan struct{}), whole: make(chan struct{})}
	config := generic.Config()
	if err := s.installDefinitions(config, c.types); err != nil {
		return nil, err
	}
	s.handler = newHandler(generic, s.catalogue, c.types.models, c.resolver)
	s.handler.delegate = s.onceKnown(delegate.UnprotectedHandler())
	s.catalogue.listeners = append(s.catalogue.listeners, s.handler.changed)
	s.handler.catchUp = s.catchUp
	if s.union != nil {
		s.handler.catchUp = func(context.Context, schema.GroupResource, *entry) {} // it has no controller
		s.handler.shared.union = s.union
		generic.Handler.NonGoRestfulMux.UnlistedHandlePrefix("/apis/", s.onceStarted(s.handler))
		return s, nil
	}
	publisher := &publisher{catalogue: s.catalogue, discovery: config.Discovery,
		openapi: publishOpenAPI(config.OpenAPI, c.types.models)}
	s.catalogue.listeners = append(s.catalogue.listeners, publisher.changed)
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

// onceKnown holds requests for resources that no known CRD defines until all existing CRDs are known.
func (s *Server) onceKnown(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.known:
			next.ServeHTTP(w, r)
		default:
			err := apierrors.NewServiceUnavailable(
				"the request has been made before all known HTTP paths have been installed, please try again")
			err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 5}
			responsewriters.WriteError(w, r, err)
		}
	})
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

// CRDsKnown is closed after all CRDs that existed at the start are in discovery. A CRD that cannot be read keeps it open
// until the CRD is readable or deleted: its resources are unknown.
func (s *Server) CRDsKnown() <-chan struct{} { return s.whole }

func (s *Server) installDefinitions(config *server.Config, t *Types) error {
	scheme := t.scheme
	kind := customresourcedefinition.Kind(customresourcedefinition.Storage{}).Named(scheme)
	opts, err := config.RESTOptionsGetter.GetRESTOptions(schema.GroupResource{Group: kind.Hub.Group,
		Resource: kind.Names.Plural})
	if err != nil {
		return err
	}
	if s.definitions, err = registry.NewStore(kind, scheme, opts); err != nil {
		return err
	}
	// It has the same cache.
	closed, err := registry.NewStore(customresourcedefinition.Kind(customresourcedefinition.Storage{Closed: true}),
		scheme, opts)
	if err != nil {
		return err
	}
	s.prefix = opts.Prefix + "/" + kind.Prefix + "/"
	if all, ok := opts.Backend.(several); ok {
		s.union = newUnion(s, all)
	}
	gv := apiextensionsv1.SchemeGroupVersion
	all := customresourcedefinition.Resources(s.definitions, gv, s.settled)
	status, err := (&endpoints.APIGroupVersion{GroupVersion: gv, Resources: all, Scheme: scheme,
		TypeConverter: t.converter}).Resource(kind.Names.Plural + "/status")
	if err != nil {
		return err
	}
	s.status = &customresourcedefinition.StatusWriter{Store: closed, Fields: status.Scope().FieldManager}
	return s.GenericAPIServer.InstallAPIGroups(&server.APIGroupInfo{
		PrioritizedVersions:          []schema.GroupVersion{gv},
		VersionedResourcesStorageMap: map[string]map[string]*rest.Resource{gv.Version: all},
		Scheme:                       scheme,
		SchemeName:                   schemeName,
		TypeConverter:                t.converter,
	})
}

func newHandler(generic *server.GenericAPIServer, c *catalogue, m *models.Source, resolver ServiceResolver) *crHandler {
	config := generic.Config()
	return &crHandler{
		catalogue: c,
		discovery: config.Discovery,
		options:   config.RESTOptionsGetter,
		shared: &shared{expressions: cel.NewMetrics(config.Metrics), endpoints: generic.Endpoints(),
			types: customresource.NewTypeConverters(m)},
		converters: &conversion.Factory{Resolver: resolver,
			Certificates: egress.NewWebhookCertificateMetrics(config.Metrics.Registry),
			Memory:       conversion.NewMemory(), Metrics: conversion.NewMetrics(config.Metrics.Registry)},
		metrics:  config.Metrics.Registry,
		draining: map[schema.GroupResource]*endpoint{},
	}
}

// publishOpenAPI returns what enters the documents of a version of CRDs in the
// service, which may be nil.
func publishOpenAPI(service *openapi.Service, m *models.Source) func(schema.GroupVersion,
	func() []crdopenapi.Definition) {
	return func(gv schema.GroupVersion, crds func() []crdopenapi.Definition) {
		switch {
		case service == nil:
		case crds == nil:
			service.Remove("apis/" + gv.String())
		default:
			service.Set("apis/"+gv.String(), crdopenapi.NewSource(m, gv, crds))
		}
	}
}

// start follows the CRDs, and returns when those that there are are served.
func (s *Server) start(ctx server.HookContext) error {
	controller := controllers.New(controllers.Config{
		Catalogue:       s.catalogue,
		Write:           s.status.Write,
		DeleteInstances: s.handler.deleteInstances,
		Go:              s.GenericAPIServer.Go,
	})
	s.catalogue.listeners = append(s.catalogue.listeners, func(old, now *entry) {
		controller.Changed(definitionOf(old), definitionOf(now))
	})
	f := &follower{catalogue: s.catalogue, controller: controller, settled: s.settled, watch: s.watch,
		prefix: s.prefix, synced: func() { close(s.known) }, whole: func() { close(s.whole) }}
	s.GenericAPIServer.Go(f.run)
	s.GenericAPIServer.Go(s.handler.sweepIdle)
	select {
	case <-s.known:
	case <-ctx.Done():
	}
	return nil
}

// watch starts a watch of all CRDs in storage, the present ones first.
func (s *Server) watch(ctx context.Context) (storage.Watch, error) {
	opts := storage.WatchOptions{Initial: true, Bookmarks: true, Freshness: storage.Freshness{Match: storage.Consistent}}
	opts.Prefix = s.prefix
	return s.definitions.Cache().Watch(ctx, opts)
}

// catchUp implements crHandler.catchUp. known is nil for a CRD that the catalogue has not.
func (s *Server) catchUp(ctx context.Context, gr schema.GroupResource, known *entry) {
	stored, err := s.definitions.Cache().Peek(ctx, s.prefix+gr.String())
	if err != nil || stored == nil {
		return
	}
	if known == nil || known.crd.ResourceVersion != strconv.FormatInt(stored.Revision, 10) {
		s.settled.Wait(ctx, stored.Revision)
	}
}

func definitionOf(res *entry) definitionObject {
	if res == nil {
		return nil
	}
	return res.crd
}
