package group

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/serve/server"
)

// Builder collects the resources of a built-in API group.
type Builder struct {
	*server.GroupBuilder
	deps  Deps
	group string
	// prefix is that of all keys.
	prefix string
	err    error
}

// New begins a group; versions are those that may be served, preferred first.
func New(d Deps, group string, versions ...string) *Builder {
	b := &Builder{deps: d, group: group}
	info := server.APIGroupInfo{Scheme: d.Scheme, TypeConverter: d.TypeConverter}
	for _, v := range versions {
		info.PrioritizedVersions = append(info.PrioritizedVersions, schema.GroupVersion{Group: group, Version: v})
	}
	b.GroupBuilder = server.NewGroupBuilder(info, b)
	return b
}

// Resource enters a resource ("bindings") in every version of the
// group that serves it, and of a subresource ("pods/binding") in those that have its
// resource, which is entered before.
func (b *Builder) Resource(name string, r *rest.Resource) {
	parent, _, sub := strings.Cut(name, "/")
	for _, gv := range b.Versions() {
		if b.deps.serves(gv, name) && (!sub || b.Get(gv.Version, parent) != nil) {
			b.Put(gv.Version, name, r)
		}
	}
	b.deps.Stores.Put(schema.GroupResource{Group: b.group, Resource: name}, r)
}

// Info returns the finished group, or the first error of building it.
func (b *Builder) Info() (*server.APIGroupInfo, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.GroupBuilder.Info(), nil
}
