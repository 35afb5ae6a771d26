package control

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
)

// routes maps keys to resources. Built-in resources have their own prefixes; the keys of all others are
// "GROUP/PLURAL/…".
type routes struct {
	resources *Resources

	mu    sync.Mutex
	views map[schema.GroupResource]cache.View // of those that have changed
}

func newRoutes(r *Resources) *routes {
	return &routes{resources: r, views: map[schema.GroupResource]cache.View{}}
}

// find returns the resource of a key, and the rest of the key after the resource's prefix.
func (r *routes) find(key string) (resource schema.GroupResource, rest string, ok bool) {
	below, ok := strings.CutPrefix(key, r.resources.prefix)
	if !ok {
		return resource, "", false
	}
	first, rest, ok := strings.Cut(below, "/")
	if !ok {
		return resource, "", false
	}
	if gr, known := r.resources.stores.At(first); known {
		return gr, rest, true
	}
	second, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return resource, "", false
	}
	if gr, known := r.resources.stores.At(first + "/" + second); known {
		return gr, rest, true
	}
	return schema.GroupResource{Group: first, Resource: second}, rest, strings.Contains(first, ".")
}

// stored is where the objects of a resource are stored.
type stored struct {
	backend storage.Backend // nil if it is unknown
	prefix  string
	// defaults is set if the backend has objects that are not stored.
	defaults bool
}

// storage returns where the objects of a resource are stored.
func (r *routes) storage(resource schema.GroupResource) stored {
	options, err := r.resources.storages.GetRESTOptions(resource)
	if err != nil {
		return stored{}
	}
	return stored{options.Backend, r.resources.KeyPrefix(resource), options.Decoded != nil}
}

// keep drops the state of resources that are no longer served.
func (r *routes) keep(served map[schema.GroupResource]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gr := range r.views {
		if !served[gr] {
			delete(r.views, gr)
		}
	}
}

// decode decodes a change of the multiplexer's backend with the resource's own view.
func (r *routes) decode(resource schema.GroupResource, c *storage.Change) error {
	if view := r.view(resource); view != nil {
		return view.Decode(c)
	}
	return nil
}

// view returns the view of a resource that has changes; nil if its values are stored as they are.
func (r *routes) view(resource schema.GroupResource) cache.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	view, ok := r.views[resource]
	if !ok {
		view, _ = r.storage(resource).backend.(cache.View)
		r.views[resource] = view
	}
	return view
}

// newObject returns an object with the namespace and name in the rest of a key.
func newObject(resource schema.GroupResource, key, rest string, value []byte, revision int64) *Object {
	o := &Object{Resource: resource, Key: key, Name: rest, Value: value, Revision: revision}
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		o.Namespace, o.Name = namespace, name
	}
	return o
}
