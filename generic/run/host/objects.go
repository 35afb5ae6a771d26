package host

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
)

// objects finds caches by resource, for the estimates of flow control. It wraps the RESTOptionsGetter of all
// servers to record the caches that they create.
type objects struct {
	registry.RESTOptionsGetter

	mu     sync.RWMutex
	caches map[schema.GroupResource]cacheBelow
}

type cacheBelow struct {
	storage.Cache
	prefix  string
	backend storage.Backend
}

func newObjects(getter registry.RESTOptionsGetter) *objects {
	return &objects{RESTOptionsGetter: getter, caches: map[schema.GroupResource]cacheBelow{}}
}

// GetRESTOptions implements registry.RESTOptionsGetter.
func (o *objects) GetRESTOptions(resource schema.GroupResource) (registry.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource)
	if err != nil {
		return options, err
	}
	cache, drop, backend := options.Cache, options.DropCache, options.Backend
	options.Cache = func(c storage.CacheConfig) storage.Cache {
		made := cache(c)
		o.note(resource, cacheBelow{made, c.Prefix, backend})
		return made
	}
	options.DropCache = func(prefix string) {
		drop(prefix)
		o.forget(prefix)
	}
	return options, nil
}

func (o *objects) note(resource schema.GroupResource, c cacheBelow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.caches[resource] = c
}

func (o *objects) forget(prefix string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for resource, c := range o.caches {
		if c.prefix == prefix {
			delete(o.caches, resource)
		}
	}
}

func (o *objects) find(group, resource string) cacheBelow {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.caches[schema.GroupResource{Group: group, Resource: resource}]
}

// Count implements flowcontrol.Objects.
func (o *objects) Count(group, resource string) (int64, bool) {
	if c := o.find(group, resource); c.Cache != nil {
		return c.Cache.Count()
	}
	return 0, false
}

// Watchers implements flowcontrol.Objects.
func (o *objects) Watchers(group, resource, namespace, name string) int {
	if c := o.find(group, resource); c.Cache != nil {
		return c.Watching(namespace, name)
	}
	return 0
}
