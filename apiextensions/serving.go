package apiextensions

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"

	"triplane/generic/endpoints/handlers"
	"triplane/generic/managedfields"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/generic/request"
)

// serving is what answers the requests for one definition: its storage and the
// handlers of its versions, made one by one.
type serving struct {
	definition *definition
	store      *registry.Store[object]
	scope      scopeOptions

	// lastUsed is when a request came by, in seconds since 1970.
	lastUsed atomic.Int64
	// active counts the requests under way, watches among them.
	active atomic.Int64

	mu       sync.Mutex
	handlers atomic.Pointer[map[handlerKey]*verbs]
}

// scopeOptions is what the scopes of all custom resources share.
type scopeOptions struct {
	base  handlers.RequestScope
	types *typeConverters
}

type handlerKey struct{ version, subresource string }

// verbs are the handlers of a resource or subresource in a version; nil where a
// verb is not supported.
type verbs struct {
	get, list, watch, create, update, patch, delete, deleteCollection http.HandlerFunc
}

// handler finds the handler of a request; nil means that there is no such
// subresource.
func (s *serving) handler(info *request.Info) (http.HandlerFunc, error) {
	if now := time.Now().Unix(); s.lastUsed.Load() != now {
		s.lastUsed.Store(now)
	}
	v, err := s.verbs(handlerKey{info.APIVersion, info.Subresource})
	if err != nil || v == nil {
		return nil, err
	}
	var h http.HandlerFunc
	switch info.Verb {
	case "get":
		h = v.get
	case "list":
		h = v.list
	case "watch":
		h = v.watch
	case "create":
		h = v.create
	case "update":
		h = v.update
	case "patch":
		h = v.patch
	case "delete":
		h = v.delete
	case "deletecollection":
		h = v.deleteCollection
	}
	if h == nil {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Verb)
	}
	return h, nil
}

func (s *serving) verbs(key handlerKey) (*verbs, error) {
	if m := s.handlers.Load(); m != nil {
		if v, ok := (*m)[key]; ok {
			return v, nil
		}
	}
	v := s.definition.versions[key.version]
	if v == nil || !v.offers(key.subresource) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[handlerKey]*verbs{}
	if m := s.handlers.Load(); m != nil {
		if made, ok := (*m)[key]; ok {
			return made, nil
		}
		for k, h := range *m {
			next[k] = h
		}
	}
	made, err := s.make(v, key.subresource)
	if err != nil {
		return nil, err
	}
	next[key] = made
	s.handlers.Store(&next)
	return made, nil
}

// offers tells whether the version has the subresource.
func (v *crVersion) offers(subresource string) bool {
	switch subresource {
	case "":
		return true
	case "status":
		return v.hasStatus()
	case "scale":
		return v.scale() != nil
	}
	return false
}

func (s *serving) make(v *crVersion, subresource string) (*verbs, error) {
	scope, err := s.requestScope(v, subresource)
	if err != nil {
		return nil, err
	}
	name := s.store.Kind().Plural
	if subresource == "" {
		return &verbs{
			get: handlers.Get(scope, s.store), list: handlers.List(scope, s.store, s.store), watch: handlers.Watch(scope, s.store),
			create: handlers.Create(scope, s.store), update: handlers.Update(scope, s.store), patch: handlers.Patch(scope, s.store),
			delete: handlers.Delete(scope, s.deleter(v)), deleteCollection: handlers.DeleteCollection(scope, s.store),
		}, nil
	}
	storage := s.store.Storage(v.gvk.GroupVersion())[name+"/"+subresource]
	out := &verbs{}
	if g, ok := storage.(rest.Getter); ok {
		out.get = handlers.Get(scope, g)
	}
	if u, ok := storage.(rest.Updater); ok {
		out.update = handlers.Update(scope, u)
	}
	if p, ok := storage.(rest.Patcher); ok {
		out.patch = handlers.Patch(scope, p)
	}
	return out, nil
}

var scaleGVK = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// schemeName is how messages about unknown kinds call the kinds of CRDs.
const schemeName = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"

func (s *serving) requestScope(v *crVersion, subresource string) (*handlers.RequestScope, error) {
	codec, err := v.codec()
	if err != nil {
		return nil, err
	}
	columns, err := newColumns(v.spec)
	if err != nil {
		return nil, err
	}
	k := s.store.Kind()
	scope := s.scope.base
	scope.Resource = v.gvk.GroupVersion().WithResource(k.Plural)
	scope.Subresource = subresource
	scope.Kind, scope.Hub = v.gvk, k.Hub
	scope.ListKind = s.definition.crd.Status.AcceptedNames.ListKind
	scope.Namespaced = k.Namespaced
	scope.Codec = codec
	scope.SchemeName = schemeName
	scope.FieldLabel = v.fieldLabel
	scope.Deprecation = v.deprecationWarning()
	scope.Table = &tableConvertor{codec: codec, columns: columns}
	reset := k.ResetFields
	if subresource == "scale" {
		provider, ok := s.store.Storage(v.gvk.GroupVersion())[k.Plural+"/scale"].(rest.CodecProvider)
		if ok {
			if scope.Codec, err = provider.CodecFor(scaleGVK.GroupVersion()); err != nil {
				return nil, err
			}
		}
		scope.Kind, scope.Hub, scope.FieldLabel = scaleGVK, scaleGVK, nil
		scope.Table = scaleTable{}
		scope.FieldManager = s.scaleFieldManager(scope.Codec)
		return &scope, nil
	}
	if subresource == "status" {
		reset = k.Status.ResetFields
	}
	scope.Versions = handlers.VersionsOf(s.store)
	scope.Types = sync.OnceValues(func() (library.TypeConverter, error) { return s.scope.types.of(s.definition) })
	scope.FieldManager = sync.OnceValues(func() (*managedfields.Manager, error) {
		types, err := s.scope.types.of(s.definition)
		if err != nil {
			return nil, err
		}
		return handlers.NewFieldManager(handlers.FieldManagerOptions{
			Kind: v.gvk, Hub: k.Hub.GroupVersion(), Codecs: s.definition.codecFor,
			Types: types, Subresource: subresource, ResetFields: reset, Custom: true,
		})
	})
	return &scope, nil
}

// scaleFieldManager tracks who owns the replicas, which the store maps to the
// object's own managed fields.
func (s *serving) scaleFieldManager(codec rest.Codec) func() (*managedfields.Manager, error) {
	return sync.OnceValues(func() (*managedfields.Manager, error) {
		return handlers.NewFieldManager(handlers.FieldManagerOptions{
			Kind: scaleGVK, Hub: scaleGVK.GroupVersion(), Types: s.scope.types.scale(), Subresource: "scale",
			Codecs: func(gv schema.GroupVersion) (rest.Codec, error) {
				if gv != scaleGVK.GroupVersion() {
					return nil, fmt.Errorf("a scale has no version %s", gv)
				}
				return codec, nil
			},
		})
	})
}
