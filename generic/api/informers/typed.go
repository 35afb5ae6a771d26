package informers

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Typed is an informer of a resource of any API server, with the Go type V. It is safe for concurrent use. Callers
// must not change returned objects, which are shared.
type Typed[V any] struct {
	// SharedIndexInformer is client-go's informer, for event handlers and indices.
	cache.SharedIndexInformer
}

// NewTyped returns an informer of a resource. RunWithContext starts it.
func NewTyped[V any](config *restclient.Config, resource schema.GroupVersionResource) (*Typed[V], error) {
	if _, ok := any(new(V)).(interface {
		metav1.Object
		runtime.Object
	}); !ok {
		return nil, errors.New("an informer needs a kind's Go type") //nolint:err113 // a mistake of the program
	}
	config = restclient.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.WarningHandler = restclient.NoWarnings{} // the program knows that it uses deprecated versions
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	all := client.Resource(resource)
	follow := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, o)
		},
	}
	i := &Typed[V]{cache.NewSharedIndexInformer(follow, nil, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	return i, i.SetTransform(convert[V])
}

// convert converts an object to its Go type.
func convert[V any](obj any) (any, error) {
	u, ok := obj.(runtime.Unstructured)
	if !ok {
		return obj, nil
	}
	out := new(V)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.UnstructuredContent(), out); err != nil {
		return nil, err
	}
	if m, err := meta.Accessor(out); err == nil {
		m.SetManagedFields(nil)
	}
	return out, nil
}

// List returns the objects of a namespace; "" means all namespaces.
func (i *Typed[V]) List(namespace string) []*V {
	var out []*V
	add := func(obj any) {
		if v, ok := obj.(*V); ok {
			out = append(out, v)
		}
	}
	if namespace == "" {
		for _, obj := range i.GetStore().List() {
			add(obj)
		}
		return out
	}
	found, err := i.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return nil // the index exists
	}
	for _, obj := range found {
		add(obj)
	}
	return out
}

// Get returns an object; namespace is "" for cluster-scoped kinds.
func (i *Typed[V]) Get(namespace, name string) (*V, bool) {
	key := cache.ObjectName{Namespace: namespace, Name: name}.String()
	obj, ok, err := i.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, false
	}
	v, ok := obj.(*V)
	return v, ok
}
