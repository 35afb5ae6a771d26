package group

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
	"triplane/generic/server"
)

// Builder collects the resources of an API group.
type Builder struct {
	deps     Deps
	group    string
	versions []schema.GroupVersion
	storage  map[string]map[string]rest.Storage
	err      error
}

// New begins a group; versions are the served ones, preferred first.
func New(d Deps, group string, versions ...string) *Builder {
	b := &Builder{deps: d, group: group, storage: map[string]map[string]rest.Storage{}}
	for _, v := range versions {
		b.versions = append(b.versions, schema.GroupVersion{Group: group, Version: v})
		b.storage[v] = map[string]rest.Storage{}
	}
	return b
}

// Resource enters the storage of a resource ("bindings") or subresource
// ("pods/binding") in every version of the group.
func (b *Builder) Resource(name string, st rest.Storage) {
	for _, m := range b.storage {
		m[name] = st
	}
	b.deps.Stores.Put(schema.GroupResource{Group: b.group, Resource: name}, st)
}

// Info returns the finished group, or the first error of building it.
func (b *Builder) Info() (*server.APIGroupInfo, error) {
	if b.err != nil {
		return nil, b.err
	}
	return &server.APIGroupInfo{
		PrioritizedVersions:          b.versions,
		VersionedResourcesStorageMap: b.storage,
		Scheme:                       b.deps.Scheme,
		TypeConverter:                b.deps.TypeConverter,
	}, nil
}
