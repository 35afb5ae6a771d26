package group

import (
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/informers"
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
	types     map[reflect.Type]registry.AnyStore // by the Go type of objects
	fields    map[schema.GroupResource]statusFields
	absent    rest.Resource
}

// NewStores returns an empty directory.
func NewStores() *Stores {
	return &Stores{
		resources: map[schema.GroupResource]*rest.Resource{}, stores: map[schema.GroupResource]registry.AnyStore{},
		types: map[reflect.Type]registry.AnyStore{}, fields: map[schema.GroupResource]statusFields{},
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
	r := store.Resource()
	s.Put(gr, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[gr] = store
	s.types[reflect.TypeOf(r.New())] = store
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

// Source returns the store whose objects have a prototype's Go type, nil if there is none (yet).
func (s *Stores) Source(prototype runtime.Object) informers.Source {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if store := s.types[reflect.TypeOf(prototype)]; store != nil {
		return store
	}
	return nil
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
