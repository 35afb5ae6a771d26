package server

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
)

// GroupBuilder collects the storage of an API group's resources, that of kinds and other.
type GroupBuilder struct {
	info     APIGroupInfo
	storages registry.RESTOptionsGetter
}

// NewGroupBuilder begins a group with the versions, the scheme and the type converter of info. The objects of its
// kinds are stored as storages says.
func NewGroupBuilder(info APIGroupInfo, storages registry.RESTOptionsGetter) *GroupBuilder {
	info.VersionedResourcesStorageMap = map[string]map[string]*rest.Resource{}
	for _, gv := range info.PrioritizedVersions {
		info.VersionedResourcesStorageMap[gv.Version] = map[string]*rest.Resource{}
	}
	return &GroupBuilder{info: info, storages: storages}
}

// Versions are those of the group, the preferred one first.
func (b *GroupBuilder) Versions() []schema.GroupVersion { return b.info.PrioritizedVersions }

// Get returns a resource or subresource of a version of the group, nil if it is not served.
func (b *GroupBuilder) Get(version, name string) *rest.Resource {
	return b.info.VersionedResourcesStorageMap[version][name]
}

// Put serves a resource or subresource in a version of the group.
func (b *GroupBuilder) Put(version, name string, r *rest.Resource) {
	b.info.VersionedResourcesStorageMap[version][name] = r
}

// AddKind makes the store of a kind and serves it, with its declared subresources, in some of the group's versions.
// Versions of another group are served by that group.
func AddKind[T kind.Object](b *GroupBuilder, k *kind.Kind[T], versions []schema.GroupVersion) (*registry.Store[T], error) {
	k = k.Named(b.info.Scheme)
	group := b.info.PrioritizedVersions[0].Group
	resource := schema.GroupResource{Group: group, Resource: k.Names.Plural}
	options, err := b.storages.GetRESTOptions(resource)
	if err != nil {
		return nil, err
	}
	store, err := registry.NewStore(k, b.info.Scheme, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resource, err)
	}
	store.ServeOnly(func(gv schema.GroupVersion) bool { return gv.Group != group || slices.Contains(versions, gv) })
	var all map[string]*rest.Resource // the same in each version
	for _, gv := range versions {
		if _, err := store.CodecFor(gv); err != nil {
			continue
		}
		if all == nil {
			all = store.Resources(gv)
		}
		for name, r := range all {
			b.Put(gv.Version, name, r)
		}
	}
	return store, nil
}

// Info returns the finished group, with the versions of which something is served.
func (b *GroupBuilder) Info() *APIGroupInfo {
	info := b.info
	empty := func(gv schema.GroupVersion) bool { return len(info.VersionedResourcesStorageMap[gv.Version]) == 0 }
	info.PrioritizedVersions = slices.DeleteFunc(slices.Clone(b.Versions()), empty)
	return &info
}
