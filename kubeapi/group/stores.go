package group

import (
	"context"
	"fmt"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane/generic/api/registry"
	"triplane/generic/api/rest"
	"triplane/generic/base/request"
)

// Stores finds a server's built-in resources. Groups and
// admission plugins share one; it fills while the groups are built. It is safe
// for concurrent use.
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

// Find returns a resource, one without verbs if it is not (yet) there.
func (s *Stores) Find(gr schema.GroupResource) *rest.Resource {
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

// StoreOf returns the store of a resource of a Go type, nil if there is none.
func StoreOf[T registry.Object](s *Stores, gr schema.GroupResource) *registry.Store[T] {
	store, _ := s.Store(gr).(*registry.Store[T])
	return store
}

// Consistent reads what was written before the call, Cached whatever the watch
// cache holds.
const (
	Consistent = ""
	Cached     = "0"
)

// Object is a pointer to a Go type of a kind.
type Object = registry.Object

// Get reads an object of another group: resourceVersion is Consistent or Cached.
// The object is the caller's own.
func Get[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace, name,
	resourceVersion string) (T, error) {
	return get[T](ctx, s, gr, namespace, name, resourceVersion, rest.Stored.Decode)
}

// decoding is how a stored object is decoded: rest.Stored.Decode or Shared.
type decoding func(rest.Stored) (runtime.Object, error)

func get[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace, name,
	resourceVersion string, decode decoding) (T, error) {
	var none T
	read := s.Find(gr).Get
	if read == nil {
		return none, fmt.Errorf("no storage for %s", gr)
	}
	obj, err := read(request.WithNamespace(ctx, namespace),
		rest.GetRequest{Name: name, Options: &metav1.GetOptions{ResourceVersion: resourceVersion}})
	if err != nil {
		return none, err
	}
	return as[T](obj, decode)
}

// GetNew reads an object of another group from the cache, and from storage where it
// is not there: it may have been created a moment ago, maybe by another replica. The
// object is the caller's own.
func GetNew[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace,
	name string) (T, error) {
	return getNew[T](ctx, s, gr, namespace, name, rest.Stored.Decode)
}

// GetShared reads an object as GetNew does, for callers that only read it: others have the
// same object, and it must not be changed.
func GetShared[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace,
	name string) (T, error) {
	return getNew[T](ctx, s, gr, namespace, name, rest.Stored.Shared)
}

func getNew[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace, name string,
	decode decoding) (T, error) {
	obj, err := get[T](ctx, s, gr, namespace, name, Cached, decode)
	if apierrors.IsNotFound(err) {
		return get[T](ctx, s, gr, namespace, name, Consistent, decode)
	}
	return obj, err
}

// List reads all objects of a namespace ("" for all) that the selector of opts
// matches. The objects are the caller's own. Where ctx skips what cannot be read, the
// rest is returned, else such an object is an error.
func List[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace string,
	opts *metainternalversion.ListOptions) ([]T, error) {
	return list[T](ctx, s, gr, namespace, opts, rest.Stored.Decode)
}

// ListShared reads as List does, for callers that only read the objects: others have the
// same ones, and they must not be changed.
func ListShared[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace string,
	opts *metainternalversion.ListOptions) ([]T, error) {
	return list[T](ctx, s, gr, namespace, opts, rest.Stored.Shared)
}

func list[T registry.Object](ctx context.Context, s *Stores, gr schema.GroupResource, namespace string,
	opts *metainternalversion.ListOptions, decode decoding) ([]T, error) {
	read := s.Find(gr).List
	if read == nil {
		return nil, fmt.Errorf("no storage for %s", gr)
	}
	obj, err := read(request.WithNamespace(ctx, namespace), opts)
	if err != nil {
		return nil, err
	}
	stored, ok := obj.(*rest.StoredList)
	if !ok {
		return nil, fmt.Errorf("%s: unexpected list %T", gr, obj)
	}
	out := make([]T, 0, len(stored.Items))
	for _, it := range stored.Items {
		t, err := as[T](it, decode)
		if apierrors.IsStoreReadError(err) && request.SkipsUnreadable(ctx) {
			klog.FromContext(ctx).V(2).Info("An object is left out, since it cannot be read", "err", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func as[T registry.Object](obj runtime.Object, decode decoding) (T, error) {
	var none T
	if st, ok := obj.(rest.Stored); ok {
		var err error
		if obj, err = decode(st); err != nil {
			return none, err
		}
	}
	t, ok := obj.(T)
	if !ok {
		return none, fmt.Errorf("unexpected object %T, expected %T", obj, none)
	}
	return t, nil
}
