package group

import (
	"maps"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/follow"
)

// Stores finds a server's built-in resources. Groups and
// admission plugins share one. Its resources are added while the groups are built, and
// its handles find them during requests. It is safe for concurrent use.
type Stores struct {
	outline *Outline // as recorded
	like    *Outline // nil if all groups are built at once
	later   *later   // nil before Later

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
		outline:   newOutline(),
		resources: map[schema.GroupResource]*rest.Resource{}, stores: map[schema.GroupResource]registry.AnyStore{},
		types: map[reflect.Type]registry.AnyStore{}, fields: map[schema.GroupResource]statusFields{},
	}
}

// NewStoresLike returns an empty directory whose groups are built when they are needed, as another chain of the process
// has recorded them.
func NewStoresLike(o *Outline) *Stores {
	s := NewStores()
	s.like = o
	return s
}

// Like returns the outline of NewStoresLike, nil without one.
func (s *Stores) Like() *Outline { return s.like }

// Put enters a resource.
func (s *Stores) Put(gr schema.GroupResource, r *rest.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[gr] = r
	if s.like == nil {
		s.outline.record(gr)
	}
}

// add enters a store and its resource. The keys are below a prefix of the chain's.
func (s *Stores) add(gr schema.GroupResource, store registry.AnyStore, r *rest.Resource, prefix string) {
	s.Put(gr, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[gr] = store
	t := reflect.TypeOf(r.New())
	s.types[t] = store
	if s.like == nil {
		s.outline.types[t] = s.outline.of[gr]
		below := strings.TrimPrefix(store.KeyPrefix(), prefix+"/")
		s.outline.prefixes[gr] = below
		if below = strings.TrimSuffix(below, "/"); s.outline.at[below].Empty() {
			s.outline.at[below] = gr
		}
	}
}

// find returns a resource, one without verbs if it is not (yet) there.
func (s *Stores) find(gr schema.GroupResource) *rest.Resource {
	if r := s.present(gr); r != nil {
		return r
	}
	s.need(gr)
	if r := s.present(gr); r != nil {
		return r
	}
	return &s.absent
}

func (s *Stores) present(gr schema.GroupResource) *rest.Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resources[gr]
}

// Source returns the store whose objects have a prototype's Go type, nil if there is none (yet).
func (s *Stores) Source(prototype runtime.Object) follow.Source {
	t := reflect.TypeOf(prototype)
	s.needType(t)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if store := s.types[t]; store != nil {
		return store
	}
	return nil
}

// All returns the stores of all resources that are stored.
func (s *Stores) All() map[schema.GroupResource]registry.AnyStore {
	if s.later != nil {
		for group := range s.later.builds {
			_ = s.Build(group) // as in need
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.stores)
}

// Store returns the store of a resource, nil if there is none.
func (s *Stores) Store(gr schema.GroupResource) registry.AnyStore {
	s.need(gr)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.stores[gr]
}
