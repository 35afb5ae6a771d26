package discovery

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindResolver returns a function that finds the resource of a served kind; ok is false where
// none is served. Results are cached until the served groups change. The function is safe for
// concurrent use.
func (g *Groups) KindResolver() func(kind schema.GroupVersionKind) (
	gvr schema.GroupVersionResource, namespaced, ok bool) {
	r := &kindResolver{groups: g}
	return r.resolve
}

type kindResolver struct {
	groups *Groups

	mu      sync.Mutex
	changed <-chan struct{} // closed when resolved is out of date
	cache   map[schema.GroupVersionKind]resolvedKind
}

// resolvedKind is the resource of a kind; ok is false where none is served.
type resolvedKind struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	ok         bool
}

func (r *kindResolver) resolve(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.changed:
		r.cache = nil
	default:
	}
	if r.cache == nil {
		r.changed, r.cache = r.groups.Changed(), map[schema.GroupVersionKind]resolvedKind{}
	}
	resolved, found := r.cache[kind]
	if !found {
		if resource, ok := r.groups.ResourceOf(kind); ok {
			resolved = resolvedKind{kind.GroupVersion().WithResource(resource.Name), resource.Namespaced, true}
		}
		r.cache[kind] = resolved
	}
	return resolved.gvr, resolved.namespaced, resolved.ok
}
