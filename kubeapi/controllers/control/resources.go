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
	all     []Resource
	byKind  map[schema.GroupVersionKind]Resource
	byName  map[schema.GroupResource]int    // index in all
	byKey   map[string]schema.GroupResource // built-in resources, by prefix below the server's
	byGroup map[schema.GroupResource]string
	failed  []schema.GroupVersion
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
	r := &Resources{public: public, local: local, stores: stores, storages: storages, prefix: options.Prefix + "/"}
	r.Refresh()
	return r, nil
}

// Following follows discovery, as Groups.Following. Call Refresh after each change.
func (r *Resources) Following(f func(context.Context, []schema.GroupVersion)) *discovery.Following {
	return r.public.Following(f)
}

// Refresh reads discovery.
func (r *Resources) Refresh() {
	c := &catalogue{byKind: map[schema.GroupVersionKind]Resource{}, byName: map[schema.GroupResource]int{},
		byKey: map[string]schema.GroupResource{}, byGroup: map[schema.GroupResource]string{}}
	for _, v := range r.public.Versions() {
		local := r.local(v.GroupVersion)
		if v.Stale && !local {
			c.failed = append(c.failed, v.GroupVersion)
			continue
		}
		list := v.List()
		for i := range list {
			res := newResource(v.GroupVersion, &list[i], !local)
			if strings.Contains(res.Resource, "/") {
				continue
			}
			c.byKind[v.GroupVersion.WithKind(res.Kind)] = res
			gr := res.GroupResource()
			if _, seen := c.byName[gr]; seen {
				continue
			}
			c.byName[gr] = len(c.all)
			c.all = append(c.all, res)
			r.locate(c, gr)
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

// locate records the storage prefix of a built-in resource.
func (r *Resources) locate(c *catalogue, gr schema.GroupResource) {
	prefix, ok := r.stores.KeyPrefix(gr)
	if !ok {
		return
	}
	c.byGroup[gr] = prefix
	below := strings.TrimSuffix(strings.TrimPrefix(prefix, r.prefix), "/")
	if _, taken := c.byKey[below]; !taken { // events are in two groups
		c.byKey[below] = gr
	}
}

func (r *Resources) builtIn(below string) (schema.GroupResource, bool) {
	gr, ok := r.known.Load().byKey[below]
	return gr, ok
}

// KeyPrefix returns the storage prefix of a resource of this process.
func (r *Resources) KeyPrefix(gr schema.GroupResource) string {
	if prefix, ok := r.known.Load().byGroup[gr]; ok {
		return prefix
	}
	return r.prefix + gr.Group + "/" + gr.Resource + "/"
}

// Find returns a resource in its preferred version; false if it is not served.
func (r *Resources) Find(gr schema.GroupResource) (Resource, bool) {
	c := r.known.Load()
	i, ok := c.byName[gr]
	if !ok {
		return Resource{}, false
	}
	return c.all[i], true
}

// All returns all resources, each in its preferred version.
func (r *Resources) All() []Resource { return r.known.Load().all }

// Unavailable returns the versions whose servers are unavailable, so that their resources are unknown.
func (r *Resources) Unavailable() []schema.GroupVersion { return r.known.Load().failed }

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
	res, ok := r.known.Load().byKind[kind]
	return res, ok
}
