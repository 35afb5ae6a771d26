package control

import (
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/discovery"
	"triplane/generic/api/registry"
	"triplane/kubeapi/group"
)

// Resource is a resource as discovery lists it, in its preferred version.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
	// External is true where another server, behind an APIService, keeps it.
	External bool
}

// Can reports whether the resource has all of the verbs.
func (r *Resource) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(r.Verbs, v) })
}

// Resources lists what a server serves. It is safe for concurrent use.
type Resources struct {
	public   *discovery.Groups
	local    func(schema.GroupVersion) bool
	storages registry.RESTOptionsGetter
	stores   *group.Stores
	prefix   string // of all keys, with a trailing slash

	known atomic.Pointer[catalogue]
}

// catalogue is what was served at the last Refresh.
type catalogue struct {
	all     []Resource
	byKind  map[schema.GroupVersionKind]Resource
	byName  map[schema.GroupResource]int    // place in all
	byKey   map[string]schema.GroupResource // built-in ones, by the prefix below the server's
	byGroup map[schema.GroupResource]string
	failed  []schema.GroupVersion
}

// NewResources reads discovery. local reports which versions this process serves.
func NewResources(public *discovery.Groups, local func(schema.GroupVersion) bool, stores *group.Stores, storages registry.RESTOptionsGetter) (*Resources, error) {
	options, err := storages.GetRESTOptions(schema.GroupResource{Resource: "namespaces"})
	if err != nil {
		return nil, err
	}
	r := &Resources{public: public, local: local, stores: stores, storages: storages, prefix: options.Prefix + "/"}
	r.Refresh()
	return r, nil
}

// Subscribe follows what is served; Refresh has to be called after each change.
func (r *Resources) Subscribe() *discovery.Subscription { return r.public.Subscribe() }

// Refresh reads what is served now.
func (r *Resources) Refresh() {
	c := &catalogue{byKind: map[schema.GroupVersionKind]Resource{}, byName: map[schema.GroupResource]int{}, byKey: map[string]schema.GroupResource{}, byGroup: map[schema.GroupResource]string{}}
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
		GroupVersionResource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced, Verbs: r.Verbs, External: external,
	}
}

// locate notes where a built-in resource is kept.
func (r *Resources) locate(c *catalogue, gr schema.GroupResource) {
	store := r.stores.Store(gr)
	if store == nil {
		return
	}
	prefix := store.KeyPrefix()
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

// KeyPrefix is where the objects of a resource of this process are kept.
func (r *Resources) KeyPrefix(gr schema.GroupResource) string {
	if prefix, ok := r.known.Load().byGroup[gr]; ok {
		return prefix
	}
	return r.prefix + gr.Group + "/" + gr.Resource + "/"
}

// Find returns a resource in its preferred version; false where it is not served.
func (r *Resources) Find(gr schema.GroupResource) (Resource, bool) {
	c := r.known.Load()
	i, ok := c.byName[gr]
	if !ok {
		return Resource{}, false
	}
	return c.all[i], true
}

// All returns the resources that are served, each in its preferred version.
func (r *Resources) All() []Resource { return r.known.Load().all }

// Unavailable returns the versions whose servers do not answer, so that it is not
// known what they serve.
func (r *Resources) Unavailable() []schema.GroupVersion { return r.known.Load().failed }

// Local returns the resources that this process keeps.
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
