package group

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// Handle reads the stored objects of one resource, whose Go type is T. Functions such as Pods return handles. A handle
// is valid before its resource is added: reads return an error then. Namespaces of cluster-scoped objects are "".
// Callers own the returned objects, unless a method says otherwise.
type Handle[T kind.Object] struct {
	stores   *Stores
	resource schema.GroupResource
}

// of returns the handle of a resource. It is a method so that T is written once.
func (Handle[T]) of(s *Stores, resource schema.GroupResource) Handle[T] {
	return Handle[T]{s, resource}
}

// Resource returns the name of the resource.
func (h Handle[T]) Resource() schema.GroupResource { return h.resource }

// StoreOf returns the store of a handle's resource, nil if the server has none. It is not a method, because the
// methods of all handles are compiled in each package that mentions Stores, and with it all methods of registry.Store.
func StoreOf[T kind.Object](h Handle[T]) *registry.Store[T] {
	store, _ := h.stores.Store(h.resource).(*registry.Store[T])
	return store
}

// Verbs returns the resource's verbs. All are nil if the server does not have the resource.
func (h Handle[T]) Verbs() *rest.Resource { return h.stores.find(h.resource) }

// Values of ListOptions.ResourceVersion: Consistent includes all writes before the call, Cached is what the watch
// cache has.
const (
	Consistent = ""
	Cached     = "0"
)

// Get reads an object from the cache, and from storage if the cache does not have it: another replica may just have
// created it.
func (h Handle[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	return h.getNew(ctx, namespace, name, rest.Stored.Decode)
}

// GetShared is Get without a copy: other readers have the same object, so callers must not change it.
func (h Handle[T]) GetShared(ctx context.Context, namespace, name string) (T, error) {
	return h.getNew(ctx, namespace, name, rest.Stored.Shared)
}

// GetCached reads an object from the cache only.
func (h Handle[T]) GetCached(ctx context.Context, namespace, name string) (T, error) {
	return h.get(request.WithNamespace(ctx, namespace), name, Cached, rest.Stored.Decode)
}

// GetConsistent reads an object as of all writes before the call.
func (h Handle[T]) GetConsistent(ctx context.Context, namespace, name string) (T, error) {
	return h.get(request.WithNamespace(ctx, namespace), name, Consistent, rest.Stored.Decode)
}

// decoding is how a stored object is decoded: rest.Stored.Decode or Shared.
type decoding func(rest.Stored) (runtime.Object, error)

func (h Handle[T]) getNew(ctx context.Context, namespace, name string, decode decoding) (T, error) {
	ctx = request.WithNamespace(ctx, namespace)
	obj, err := h.get(ctx, name, Cached, decode)
	if apierrors.IsNotFound(err) {
		return h.get(ctx, name, Consistent, decode)
	}
	return obj, err
}

func (h Handle[T]) get(ctx context.Context, name, resourceVersion string, decode decoding) (T, error) {
	var none T
	read := h.Verbs().Get
	if read == nil {
		return none, fmt.Errorf("no storage for %s", h.resource)
	}
	obj, err := read(ctx, rest.GetRequest{Name: name, Options: &metav1.GetOptions{ResourceVersion: resourceVersion}})
	if err != nil {
		return none, err
	}
	return as[T](obj, decode)
}

// List reads the objects of a namespace, "" for all, that the selectors of opts match. Objects that cannot be read
// are an error, unless ctx skips them.
func (h Handle[T]) List(ctx context.Context, namespace string, opts *metainternalversion.ListOptions) ([]T, error) {
	return h.list(ctx, namespace, opts, rest.Stored.Decode)
}

// ListCached is List of all objects that the cache has.
func (h Handle[T]) ListCached(ctx context.Context, namespace string) ([]T, error) {
	return h.list(ctx, namespace, &metainternalversion.ListOptions{ResourceVersion: Cached}, rest.Stored.Decode)
}

// ListShared is ListCached without copies: other readers have the same objects, so callers must not change them.
func (h Handle[T]) ListShared(ctx context.Context, namespace string) ([]T, error) {
	return h.list(ctx, namespace, &metainternalversion.ListOptions{ResourceVersion: Cached}, rest.Stored.Shared)
}

// ListConsistent is List of all objects as of all writes before the call.
func (h Handle[T]) ListConsistent(ctx context.Context, namespace string) ([]T, error) {
	return h.list(ctx, namespace, &metainternalversion.ListOptions{}, rest.Stored.Decode)
}

func (h Handle[T]) list(ctx context.Context, namespace string, opts *metainternalversion.ListOptions,
	decode decoding) ([]T, error) {
	read := h.Verbs().List
	if read == nil {
		return nil, fmt.Errorf("no storage for %s", h.resource)
	}
	obj, err := read(request.WithNamespace(ctx, namespace), opts)
	if err != nil {
		return nil, err
	}
	stored, ok := obj.(*rest.StoredList)
	if !ok {
		return nil, fmt.Errorf("%s: unexpected list %T", h.resource, obj)
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

func as[T kind.Object](obj runtime.Object, decode decoding) (T, error) {
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
