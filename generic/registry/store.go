package registry

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
	"triplane/generic/request"
	"triplane/generic/storage"
)

// Store is the one implementation of the verbs of package rest, for one kind. It
// is safe for concurrent use. Objects that go in belong to it from then on;
// objects that come out belong to the caller.
type Store[T Object] struct {
	kind    *Kind[T]
	options RESTOptions
	cache   storage.Cache
	prefix  string // absolute, with a trailing slash
	storage StorageCodec
	codecs  []versionCodec
	scale   rest.Codec
	empties *empties // see asStored
}

// versionCodec is a served version and the wire forms that it has.
type versionCodec struct {
	gv    schema.GroupVersion
	codec rest.Codec
	// hub tells that objects of the version are what storage holds.
	hub bool
	// typeMeta is how JSON of typed objects begins, with what items of lists
	// leave out.
	typeMeta []byte
}

// NewStore makes the storage of a kind. The scheme has to know the Go types of
// typed kinds, in all their versions.
func NewStore[T Object](kind *Kind[T], scheme *runtime.Scheme, opts RESTOptions) (*Store[T], error) {
	if kind.New == nil || kind.Plural == "" {
		return nil, fmt.Errorf("registry: kind %s needs New and Plural", kind.Hub)
	}
	s := &Store[T]{kind: kind, options: opts}
	path := kind.Prefix
	if path == "" {
		path = kind.Plural
	}
	s.prefix = opts.Prefix + "/" + path + "/"
	if err := s.makeCodecs(scheme); err != nil {
		return nil, err
	}
	if t, ok := s.storage.(*typedStorage); ok && !t.json {
		s.empties = emptiesOf(reflect.TypeFor[T]())
	}
	s.cache = opts.Cache(storage.CacheConfig{
		Prefix:     s.prefix,
		Namespaced: kind.Namespaced,
		Attributes: s.attributes,
		IndexField: kind.IndexField,
	})
	return s, nil
}

// resource names the kind.
func (s *Store[T]) resource() schema.GroupResource {
	return schema.GroupResource{Group: s.kind.Hub.Group, Resource: s.kind.Plural}
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
func (s *Store[T]) Kind() *Kind[T] { return s.kind }

// Cache is what the store reads from.
func (s *Store[T]) Cache() storage.Cache { return s.cache }

// Storage returns what answers the resource in a version: "plural",
// "plural/status" and so on. It is nil where the version is not served.
func (s *Store[T]) Storage(gv schema.GroupVersion) map[string]rest.Storage {
	if _, err := s.CodecFor(gv); err != nil {
		return nil
	}
	m := map[string]rest.Storage{s.kind.Plural: s.Rest()}
	if s.kind.Status != nil {
		m[s.kind.Plural+"/status"] = s.Subresource(s.kind.Status)
	}
	for name, sub := range s.kind.Subresources {
		m[s.kind.Plural+"/"+name] = s.Subresource(sub)
	}
	if s.kind.Scale != nil {
		m[s.kind.Plural+"/scale"] = s.Scale()
	}
	return m
}

// Status returns the storage of the subresource "status", nil where the kind has
// none.
func (s *Store[T]) Status() rest.Storage {
	if s.kind.Status == nil {
		return nil
	}
	return s.Subresource(s.kind.Status)
}

// New returns an empty object.
func (s *Store[T]) New() runtime.Object { return s.kind.New() }

// NewList returns an empty list of the hub version.
func (s *Store[T]) NewList() runtime.Object {
	if s.kind.NewList == nil {
		return &metav1.List{}
	}
	return s.kind.NewList()
}

// NamespaceScoped implements rest.Scoper.
func (s *Store[T]) NamespaceScoped() bool { return s.kind.Namespaced }

// SingularName implements rest.NameProvider.
func (s *Store[T]) SingularName() string { return s.kind.Singular }

// ShortNames implements rest.NameProvider.
func (s *Store[T]) ShortNames() []string { return s.kind.ShortNames }

// Categories implements rest.NameProvider.
func (s *Store[T]) Categories() []string { return s.kind.Categories }

// GetResetFields implements rest.ResetFieldsProvider.
func (s *Store[T]) GetResetFields() rest.ResetFields { return s.kind.ResetFields }

// DeleteReturnsDeletedObject implements rest.MayReturnFullObject.
func (s *Store[T]) DeleteReturnsDeletedObject() bool { return s.kind.DeleteReturnsObject }

// DeprecationWarning implements rest.Deprecated.
func (s *Store[T]) DeprecationWarning() string { return s.kind.Deprecation }

// StorageVersion implements rest.StorageVersioner.
func (s *Store[T]) StorageVersion() schema.GroupVersionKind {
	if s.kind.StorageVersion.Empty() {
		return s.kind.Hub
	}
	return s.kind.StorageVersion
}

// ServedVersions are the versions that there are codecs for.
func (s *Store[T]) ServedVersions() []schema.GroupVersion {
	out := make([]schema.GroupVersion, len(s.codecs))
	for i := range s.codecs {
		out[i] = s.codecs[i].gv
	}
	return out
}

// CodecFor implements rest.CodecProvider.
func (s *Store[T]) CodecFor(gv schema.GroupVersion) (rest.Codec, error) {
	i := slices.IndexFunc(s.codecs, func(c versionCodec) bool { return c.gv == gv })
	if i < 0 {
		return nil, fmt.Errorf("registry: %s is not served in %s", s.kind.Plural, gv)
	}
	return s.codecs[i].codec, nil
}
