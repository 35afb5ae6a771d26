package control

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/registry"
	"triplane.dev/kubeapi/group"
)

// Resource is a resource in discovery, in its preferred version.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
	// External is true if an external server stores it.
	External bool
}

// Can reports whether the resource has all of the verbs.
func (r *Resource) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(r.Verbs, v) })
}

// Resources lists the resources of a server. It is safe for concurrent use.
type Resources struct {
	public   *discovery.Groups
	local    func(schema.GroupVersion) bool
	storages registry.RESTOptionsGetter
	stores   *group.Stores
	prefix   string // of all keys, with a trailing slash

	known atomic.Pointer[catalogue]
}

// catalogue is the result of the last Refresh.
type catalogue struct {
	all    []Resource
	byName map[schema.GroupResource]int // index in all
	failed []schema.GroupVersion
}

// NewResources returns the resources in discovery. local reports whether this process serves a version.
func NewResources(
	public *discovery.Groups, local func(schema.GroupVersion) bool, stores *group.Stores,
	storages registry.RESTOptionsGetter,
) (*Resources, error) {
	options, err := storages.GetRESTOptions(schema.GroupResource{Resource: "namespaces"})
	if err != nil {
		return nil, err
	}
	return &Resources{public: public, local: local, stores: stores, storages: storages, prefix: options.Prefix + "/"}, nil
}

// Following follows discovery, as Groups.Following. Call Refresh after each change.
func (r *Resources) Following(f func(context.Context, []schema.GroupVersion)) *discovery.Following {
	return r.public.Following(f)
}

// latest returns the result of the last Refresh, and reads discovery before the first one.
func (r *Resources) latest() *catalogue {
	if r.known.Load() == nil {
		r.Refresh()
	}
	return r.known.Load()
}

// Refresh reads discovery.
func (r *Resources) Refresh() {
	versions := r.public.Versions()
	count := 0
	for _, v := range versions {
		count += len(v.Resources)
	}
	count /= 2 // the other half are subresources
	c := &catalogue{all: make([]Resource, 0, count), byName: make(map[schema.GroupResource]int, count)}
	for _, v := range versions {
		local := r.local(v.GroupVersion)
		if v.Stale && !local {
			c.failed = append(c.failed, v.GroupVersion)
			continue
		}
		list := v.List()
		for i := range list {
			gr := v.GroupVersion.WithResource(list[i].Name).GroupResource()
			if _, seen := c.byName[gr]; seen || strings.Contains(gr.Resource, "/") {
				continue
			}
			c.byName[gr] = len(c.all)
			c.all = append(c.all, newResource(v.GroupVersion, &list[i], !local))
		}
	}
	r.known.Store(c)
}

func newResource(gv schema.GroupVersion, r *metav1.APIResource, external bool) Resource {
	return Resource{
		GroupVersionResource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced, Verbs: r.Verbs,
		External: external,
	}
}

// KeyPrefix returns the storage prefix of a resource of this process.
func (r *Resources) KeyPrefix(gr schema.GroupResource) string {
	if prefix, ok := r.stores.KeyPrefix(gr); ok {
		return prefix
	}
	return r.prefix + gr.Group + "/" + gr.Resource + "/"
}

// Find returns a resource in its preferred version; false if it is not served.
func (r *Resources) Find(gr schema.GroupResource) (Resource, bool) {
	c := r.latest()
	i, ok := c.byName[gr]
	if !ok {
		return Resource{}, false
	}
	return c.all[i], true
}

// All returns all resources, each in its preferred version.
func (r *Resources) All() []Resource { return r.latest().all }

// Unavailable returns the versions whose servers are unavailable, so that their resources are unknown.
func (r *Resources) Unavailable() []schema.GroupVersion { return r.latest().failed }

// Local returns the resources that this process stores.
func (r *Resources) Local() []Resource {
	var out []Resource
	for _, res := range r.All() {
		if !res.External && res.Can("list") {
			out = append(out, res)
		}
	}
	return out
}

// OfKind returns the resource of a kind, in that version; false if none is served.
func (r *Resources) OfKind(kind schema.GroupVersionKind) (Resource, bool) {
	v, ok := r.public.Get(kind.GroupVersion())
	local := ok && r.local(v.GroupVersion)
	if !ok || v.Stale && !local {
		return Resource{}, false
	}
	res, ok := v.ResourceOf(kind.Kind)
	if !ok {
		return Resource{}, false
	}
	return newResource(v.GroupVersion, res, !local), true
}
