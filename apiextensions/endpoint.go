package apiextensions

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/customresource"
	"triplane.dev/apiextensions/schema/cel"
	"triplane.dev/generic/api/endpoints"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// object is a custom resource.
type object = *unstructured.Unstructured

// endpoint is what answers the requests for one definition: its storage and the
// handlers of its versions, made one by one.
type endpoint struct {
	definition *customresource.Definition
	store      *registry.Store[object]
	shared     *shared

	// lastUsed is when a request came by, in seconds since 1970.
	lastUsed atomic.Int64
	// active counts the requests under way but for watches.
	active, watches atomic.Int64

	// Once it is retired, because the CRD has changed, finish is called and ended
	// closed when no request but watches is under way.
	retired atomic.Bool
	finish  func()
	once    sync.Once
	ended   chan struct{}

	mu       sync.Mutex
	handlers atomic.Pointer[map[handlerKey]verbHandlers]
}

// shared is what the handlers of all custom resources share.
type shared struct {
	// expressions counts what rules do.
	expressions *cel.Metrics
	endpoints   endpoints.Shared
	types       *customresource.TypeConverters
	union       *union // nil for the CRDs of one server
}

type handlerKey struct{ version, subresource string }

// verbHandlers are the handlers of a resource or subresource in a version; nil where
// there is no such subresource.
type verbHandlers map[string]http.HandlerFunc

// handler finds the handler of a request; nil means that there is no such
// subresource.
func (s *endpoint) handler(info *request.Info) (http.HandlerFunc, error) {
	if now := time.Now().Unix(); s.lastUsed.Load() != now {
		s.lastUsed.Store(now)
	}
	v, err := s.verbHandlers(handlerKey{info.APIVersion, info.Subresource})
	if err != nil || v == nil {
		return nil, err
	}
	h := v[info.Verb]
	if h == nil {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource},
			info.Verb)
	}
	if info.Name == "" && (info.Verb == "update" || info.Verb == "patch") {
		return nil, apierrors.NewBadRequest("name must be provided")
	}
	return h, nil
}

// verbHandlers returns the handlers of a subresource, made on its first use.
func (s *endpoint) verbHandlers(key handlerKey) (verbHandlers, error) {
	if m := s.handlers.Load(); m != nil {
		if v, ok := (*m)[key]; ok {
			return v, nil
		}
	}
	v := s.definition.Version(key.version)
	if v == nil || !v.Offers(key.subresource) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[handlerKey]verbHandlers{}
	if m := s.handlers.Load(); m != nil {
		if made, ok := (*m)[key]; ok {
			return made, nil
		}
		next = maps.Clone(*m)
	}
	made, err := s.make(v, key.subresource)
	if err != nil {
		return nil, err
	}
	next[key] = made
	s.handlers.Store(&next)
	return made, nil
}

// schemeName is how messages about unknown kinds call the kinds of CRDs.
const schemeName = "pkg/runtime/scheme.go:111"

func (s *endpoint) make(v *customresource.Version, subresource string) (verbHandlers, error) {
	g := &endpoints.APIGroupVersion{
		Root: "/apis", GroupVersion: v.GroupVersion(), Resources: map[string]*rest.Resource{},
		SchemeName: schemeName, TypeConverter: s.definition.Types, Shared: s.shared.endpoints,
	}
	path := s.store.Kind().Names.Plural
	if subresource != "" {
		path += "/" + subresource
	}
	if subresource == "scale" {
		g.TypeConverter = s.shared.types.Scale
	}
	if u := s.shared.union; u != nil {
		g.Resources[path] = u.resource(v, s.store)
	} else {
		g.Resources[path] = v.Resource(s.store, subresource)
	}
	r, err := g.Resource(path)
	if err != nil {
		return nil, err
	}
	return r.Handlers(), nil
}
