package group

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
)

// Stores finds a server's built-in resources. Groups and
// admission plugins share one. Its resources are added while the groups are built, and
// its handles find them during requests. It is safe for concurrent use.
type Stores struct {
	mu        sync.RWMutex
	resources map[schema.GroupResource]*rest.Resource
	stores    map[schema.GroupResource]registry.AnyStore
	fields    map[schema.GroupResource]statusFields
	absent    rest.Resource
}

// NewStores returns an empty directory.
func NewStores() *Stores {
	return &Stores{
		resources: map[schema.GroupResource]*rest.Resource{}, stores: map[schema.GroupResource]registry.AnyStore{},
		fields: map[schema.GroupResource]statusFields{},
	}
}

// Put enters a resource.
func (s *Stores) Put(gr schema.GroupResource, r *rest.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[gr] = r
}

// add enters the resource of a store.
func (s *Stores) add(gr schema.GroupResource, store registry.AnyStore) {
	s.Put(gr, store.Resource())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[gr] = store
}

// find returns a resource, one without verbs if it is not (yet) there.
func (s *Stores) find(gr schema.GroupResource) *rest.Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.resources[gr]; r != nil {
		return r
	}
	return &s.absent
}

// All returns the stores of all resources that are stored.
func (s *Stores) All() map[schema.GroupResource]registry.AnyStore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.stores)
}

// Store returns the store of a resource, nil if there is none.
func (s *Stores) Store(gr schema.GroupResource) registry.AnyStore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.stores[gr]
}
