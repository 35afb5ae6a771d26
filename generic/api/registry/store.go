package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

// Store is the one implementation of the verbs of package rest, for one kind. It
// is safe for concurrent use. Objects that go in belong to it from then on;
// objects that come out belong to the caller.
type Store[T kind.Object] struct {
	kind    *kind.Kind[T]
	options RESTOptions
	cache   storage.Cache
	prefix  string // absolute, with a trailing slash
	form    kind.Form[T]
	codecs  []kind.VersionCodec // of form
	served  []schema.GroupVersion
	// versionFields, where set, are what lists and watches select by besides the hub's fields.
	versionFields *VersionFields
	shared        *lru.Cache // *storage.Record → T, of those that were read lately by whoever changes nothing
}

// NewStore makes the storage of a kind. The scheme has to know the Go types of
// typed kinds, in all their versions.
func NewStore[T kind.Object](kind *kind.Kind[T], scheme *runtime.Scheme, opts RESTOptions) (*Store[T], error) {
	kind, form, err := kind.Define(scheme, opts.StorageOptions)
	if err != nil {
		return nil, err
	}
	opts.Uncached = opts.Uncached || kind.TTL != nil
	s := &Store[T]{kind: kind, form: form, options: opts, shared: lru.New(sharedObjects)}
	s.prefix = opts.Prefix + "/" + cmp.Or(opts.ResourcePrefix, kind.Prefix, kind.Names.Plural) + "/"
	s.codecs = s.form.Codecs()
	for i := range s.codecs {
		s.served = append(s.served, s.codecs[i].GV)
	}
	s.cache = opts.Cache(storage.CacheConfig{
		Prefix:     s.prefix,
		Namespaced: kind.Namespaced,
		Labels:     s.labels,
		Fields:     s.fields,
		IndexField: kind.Select.Index,
	})
	return s, nil
}

// Prefix returns the prefix of the keys of the objects: "/registry/pods/".
func (s *Store[T]) Prefix() string { return s.prefix }

// resource names the kind.
func (s *Store[T]) resource() schema.GroupResource {
	return schema.GroupResource{Group: s.kind.Hub.Group, Resource: s.kind.Names.Plural}
}

// requested names the kind in errors as the request did, whose group may be
// another one that serves the same objects.
func (s *Store[T]) requested(ctx context.Context) schema.GroupResource {
	r := s.resource()
	if i := request.InfoFrom(ctx); i != nil && i.IsResourceRequest && i.Resource == r.Resource {
		if _, err := s.version(schema.GroupVersion{Group: i.APIGroup, Version: i.APIVersion}); err == nil {
			r.Group = i.APIGroup
		}
	}
	return r
}

// Kind is the declaration that the store was made from.
func (s *Store[T]) Kind() *kind.Kind[T] { return s.kind }

// KeyPrefix is the absolute prefix of the objects' keys, with a trailing slash.
func (s *Store[T]) KeyPrefix() string { return s.prefix }

// Cache is what the store reads from.
func (s *Store[T]) Cache() storage.Cache { return s.cache }

// Resources returns the resource and its subresources in a version: "plural",
// "plural/status" and so on. It is nil where the version is not served.
func (s *Store[T]) Resources(gv schema.GroupVersion) map[string]*rest.Resource {
	if _, err := s.CodecFor(gv); err != nil {
		return nil
	}
	m := map[string]*rest.Resource{s.kind.Names.Plural: s.Resource()}
	if s.kind.Status != nil {
		m[s.kind.Names.Plural+"/status"] = s.Subresource(s.kind.Status)
	}
	for name, sub := range s.kind.Subresources {
		m[s.kind.Names.Plural+"/"+name] = s.Subresource(sub)
	}
	if s.kind.Scale != nil {
		m[s.kind.Names.Plural+"/scale"] = s.Scale(s.kind.Scale)
	}
	return m
}

// Status returns the subresource "status", nil where the kind has none.
func (s *Store[T]) Status() *rest.Resource {
	if s.kind.Status == nil {
		return nil
	}
	return s.Subresource(s.kind.Status)
}

// New returns an empty object.
func (s *Store[T]) New() runtime.Object { return s.kind.New() }

// DecodableVersions are the versions that the server reads objects in.
func (s *Store[T]) DecodableVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, c := range s.codecs {
		all = append(all, c.GV)
	}
	return all
}

// ServeOnly names the versions that the server serves, all that there are codecs for unless it is
// called, before the store is used.
func (s *Store[T]) ServeOnly(serves func(schema.GroupVersion) bool) {
	s.served = slices.DeleteFunc(s.served, func(gv schema.GroupVersion) bool { return !serves(gv) })
}

// CodecFor returns the codec of a served version.
func (s *Store[T]) CodecFor(gv schema.GroupVersion) (rest.Codec, error) {
	i := slices.IndexFunc(s.codecs, func(c kind.VersionCodec) bool { return c.GV == gv })
	if i < 0 {
		return nil, fmt.Errorf("registry: %s is not served in %s", s.kind.Names.Plural, gv)
	}
	return s.codecs[i].Codec, nil
}
