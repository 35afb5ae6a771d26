package endpoints

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeutil "k8s.io/apimachinery/pkg/util/runtime"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/handlers"
	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/rest"
	view "triplane.dev/generic/storage/object"
)

// Resource is a resource or subresource in one version: what it is called, how its objects travel
// and which verbs it has.
type Resource struct {
	group       *APIGroupVersion
	path        string // "pods/status"
	name        string // "pods"
	subresource string
	storage     *rest.Resource
	parent      *rest.Resource // storage itself for resources
	// kind names operations: that of the resource, for subresources too.
	kind string
	// served is the kind that requests carry.
	served schema.GroupVersionKind
	scope  func() *handlers.RequestScope // made once
}

// Resource returns the resource or subresource at a path of g.Resources
// ("pods/status").
func (g *APIGroupVersion) Resource(path string) (*Resource, error) {
	r := &Resource{group: g, path: path, storage: g.Resources[path]}
	if r.storage == nil {
		return nil, fmt.Errorf("%q has no storage", path)
	}
	r.name, r.subresource, _ = strings.Cut(path, "/")
	if strings.Contains(r.subresource, "/") {
		return nil, fmt.Errorf("%q is no resource or subresource", path)
	}
	r.parent = r.storage
	if p := g.Resources[r.name]; r.subresource != "" && p != nil {
		r.parent = p
	}
	var err error
	if r.served, err = g.kindOf(r.storage); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	parent := r.served
	if r.parent != r.storage {
		if parent, err = g.kindOf(r.parent); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	r.kind = parent.Kind
	r.scope = sync.OnceValue(func() *handlers.RequestScope { return g.scope(r) })
	return r, nil
}

// Scope is what the handlers of the resource share. It is not to be changed.
func (r *Resource) Scope() *handlers.RequestScope { return r.scope() }

// Handlers makes a handler for each verb that the resource has, by the verb of
// request.Info ("list", "deletecollection"). Connect, whose methods the resource
// names, is not among them.
func (r *Resource) Handlers() map[string]http.HandlerFunc {
	out := make(map[string]http.HandlerFunc, len(verbs))
	r.eachVerb(func(v *verb) { out[v.discovery] = v.handler(r.scope()) })
	return out
}

// eachVerb calls f with the rows of the table that the resource has.
func (r *Resource) eachVerb(f func(v *verb)) {
	for i := range verbs {
		v := &verbs[i]
		if r.subresource == "" && !v.main || r.subresource != "" && !v.sub {
			continue
		}
		if v.has(r.storage) {
			f(v)
		}
	}
}

// codec returns how the kind of requests of a resource is encoded in this version.
func (g *APIGroupVersion) codec(r *Resource) rest.Codec {
	var c rest.Codec
	var err error
	if r.storage.Codec != nil {
		c, err = r.storage.Codec(g.GroupVersion)
	} else {
		c, err = codec.New(g.Scheme, r.served, codec.Options{Default: r.storage.Default})
	}
	runtimeutil.Must(err) // kindOf has found the kind
	return c
}

// kindOf returns the kind that requests of a resource carry in this version.
func (g *APIGroupVersion) kindOf(r *rest.Resource) (schema.GroupVersionKind, error) {
	if r.Codec != nil {
		c, err := r.Codec(g.GroupVersion)
		if err != nil {
			return schema.GroupVersionKind{}, err
		}
		return cmp.Or(r.Kind, c.Kind()), nil
	}
	if !r.Kind.Empty() {
		if !g.Scheme.Recognizes(r.Kind) {
			return schema.GroupVersionKind{}, fmt.Errorf("%s is not in the scheme", r.Kind)
		}
		return r.Kind, nil
	}
	kinds, _, err := g.Scheme.ObjectKinds(r.New())
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	for _, k := range kinds {
		if k.GroupVersion() == g.GroupVersion {
			return k, nil
		}
	}
	for _, k := range kinds {
		if k.Group == g.GroupVersion.Group {
			return k, nil
		}
	}
	return kinds[0], nil
}

// hub is the kind of a resource's objects behind the handlers.
func (g *APIGroupVersion) hub(r *rest.Resource, kind schema.GroupVersionKind) schema.GroupVersionKind {
	obj := r.New()
	if k := obj.GetObjectKind().GroupVersionKind(); !k.Empty() {
		return k
	}
	if !view.Typed(obj) || g.Scheme == nil {
		return kind
	}
	kinds, _, err := g.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 || slices.Contains(kinds, kind) {
		return kind
	}
	return kinds[0]
}

// scope is what the handlers of the resource share.
func (g *APIGroupVersion) scope(r *Resource) *handlers.RequestScope {
	kind, codec := r.served, g.codec(r)
	s := &handlers.RequestScope{
		Scope: responsewriters.Scope{
			Storage: r.storage, Kind: kind, Hub: g.hub(r.storage, kind), Codec: codec, CBOR: g.CBOR,
		},
		Resource: g.GroupVersion.WithResource(r.name), Subresource: r.subresource,
		Admission: g.Admission, Authorizer: g.Authorizer,
		MaxRequestBodyBytes: g.MaxRequestBodyBytes,
		UnreadDeletion:      g.UnreadDeletion,
		NoInitialEvents:     g.NoInitialEvents,
		Shards:              g.Shards,
		MinRequestTimeout:   g.MinRequestTimeout,
		SchemeName:          g.SchemeName,
		Namespaced:          r.namespaced(),
	}
	s.Table = r.storage.ConvertToTable
	if s.Table == nil && (r.storage.Get != nil || r.storage.List != nil) { // reviews and actions are never shown as tables
		s.Table = defaultTable
	}
	if r.storage.NoTable {
		s.Table = nil
	}
	s.Deprecation = cmp.Or(deprecation(g.Scheme, kind), r.parent.Deprecation)
	s.Watches = g.Watches.Of(g.GroupVersion.Group, g.GroupVersion.Version, r.name)
	s.StrategicMerge = g.Scheme != nil && view.Typed(codec.New())
	if r.storage.List != nil {
		s.ListKind = r.storage.NewList().GetObjectKind().GroupVersionKind().Kind // of typed lists none
	}
	s.Types = g.TypeConverter
	s.Versions = handlers.VersionsOf(r.storage, g.servedIn(r))
	if g.TypeConverter != nil {
		s.FieldManager = g.fieldManager(r, s)
	}
	return s
}

// servedIn reports in which versions a built-in resource is served; nil is all that its
// storage has.
func (g *APIGroupVersion) servedIn(r *Resource) func(schema.GroupVersion) bool {
	if g.Served == nil || g.Scheme == nil {
		return nil
	}
	return func(gv schema.GroupVersion) bool { return g.Served(gv, r.path) }
}

// fieldManager makes the manager of managed fields, on the first write.
func (g *APIGroupVersion) fieldManager(r *Resource, s *handlers.RequestScope) func() (*managedfields.Manager, error) {
	return sync.OnceValues(func() (*managedfields.Manager, error) {
		types, err := g.TypeConverter()
		if err != nil || types == nil {
			return nil, err
		}
		return fieldmanager.New(fieldmanager.Options{
			Kind: s.Kind, Hub: s.Hub.GroupVersion(), Types: types, Subresource: s.Subresource,
			ResetFields: r.storage.ResetFields,
			Codecs:      r.codecFor, Custom: !view.Typed(s.Codec.New()),
		})
	})
}

// codecFor returns the codec of a version that managed fields may name.
func (r *Resource) codecFor(gv schema.GroupVersion) (rest.Codec, error) {
	if gv == r.served.GroupVersion() {
		return r.scope().Codec, nil
	}
	if r.storage.Codec != nil {
		if codec, err := r.storage.Codec(gv); err != nil || codec.Kind().GroupVersion() == gv {
			return codec, err
		}
	}
	return nil, fmt.Errorf("%s is not served in %s", r.served.Kind, gv)
}

// namespaced reports whether the objects are in namespaces.
func (r *Resource) namespaced() bool { return r.parent.Namespaced }

// discovered is what discovery shows of the resource.
func (r *Resource) discovered() metav1.APIResource {
	a := metav1.APIResource{Name: r.path, Namespaced: r.namespaced(), Kind: r.served.Kind}
	r.eachVerb(func(v *verb) { a.Verbs = append(a.Verbs, v.discovery) })
	if r.storage.Connect != nil {
		for _, method := range r.storage.ConnectMethods {
			if v := connectVerbs[method]; v != "" {
				a.Verbs = append(a.Verbs, v)
			}
		}
	}
	slices.Sort(a.Verbs)
	a.Verbs = slices.Compact(a.Verbs)
	if !r.storage.Kind.Empty() && r.served.GroupVersion() != r.group.GroupVersion {
		a.Group, a.Version = r.served.Group, r.served.Version
	}
	if r.subresource != "" {
		return a
	}
	a.SingularName = cmp.Or(r.storage.Singular, strings.ToLower(r.kind))
	a.ShortNames, a.Categories = r.storage.ShortNames, r.storage.Categories
	a.StorageVersionHash = r.storageVersionHash()
	return a
}

// storageVersionHash identifies the kind that storage holds, so that clients see
// when it changes. Only what is stored has one.
func (r *Resource) storageVersionHash() string {
	if r.storage.StorageVersion.Empty() && !watches(r.storage) {
		return ""
	}
	return discovery.StorageVersionHash(cmp.Or(r.storage.StorageVersion, r.group.hub(r.storage, r.served)))
}
