package group

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/rest"
	"triplane/generic/serve/server"
)

// Builder collects the resources of an API group.
type Builder struct {
	deps     Deps
	group    string
	versions []schema.GroupVersion
	storage  map[string]map[string]*rest.Resource
	err      error
}

// New begins a group; versions are those that may be served, preferred first.
func New(d Deps, group string, versions ...string) *Builder {
	b := &Builder{deps: d, group: group, storage: map[string]map[string]*rest.Resource{}}
	for _, v := range versions {
		b.versions = append(b.versions, schema.GroupVersion{Group: group, Version: v})
		b.storage[v] = map[string]*rest.Resource{}
	}
	return b
}

// Resource enters a resource ("bindings") in every version of the
// group that serves it, and of a subresource ("pods/binding") in those that have its
// resource, which is entered before.
func (b *Builder) Resource(name string, r *rest.Resource) {
	parent, _, sub := strings.Cut(name, "/")
	for _, gv := range b.versions {
		m := b.storage[gv.Version]
		if _, ok := m[parent]; b.deps.serves(gv, name) && (ok || !sub) {
			m[name] = r
		}
	}
	b.deps.Stores.Put(schema.GroupResource{Group: b.group, Resource: name}, r)
}

// Info returns the finished group, with the versions of which something is served,
// or the first error of building it.
func (b *Builder) Info() (*server.APIGroupInfo, error) {
	if b.err != nil {
		return nil, b.err
	}
	served := slices.DeleteFunc(slices.Clone(b.versions), func(gv schema.GroupVersion) bool { return len(b.storage[gv.Version]) == 0 })
	return &server.APIGroupInfo{
		PrioritizedVersions:          served,
		VersionedResourcesStorageMap: b.storage,
		Scheme:                       b.deps.Scheme,
		TypeConverter:                b.deps.TypeConverter,
	}, nil
}
