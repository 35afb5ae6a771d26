package informers

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/internal/worker"
)

// Remote has the informers of another API server, which list and watch the resource of a Go type in its version. It
// is safe for concurrent use.
type Remote struct {
	list func(schema.GroupVersionKind, schema.GroupVersionResource) cache.ListerWatcher

	mu        sync.Mutex
	informers map[reflect.Type]cache.SharedIndexInformer
	started   map[reflect.Type]bool
	running   worker.Group
}

var _ Shared = (*Remote)(nil)

// NewRemote returns a factory that lists and watches with the given function, ListerWatchers for example.
func NewRemote(list func(schema.GroupVersionKind, schema.GroupVersionResource) cache.ListerWatcher) *Remote {
	return &Remote{list: list, informers: map[reflect.Type]cache.SharedIndexInformer{},
		started: map[reflect.Type]bool{}}
}

// ListerWatchers returns what lists and watches built-in resources of the API server of config. It returns an error
// if no client can be created from config.
func ListerWatchers(config *restclient.Config) (
	func(schema.GroupVersionKind, schema.GroupVersionResource) cache.ListerWatcher, error) {
	shared := restclient.CopyConfig(config)
	shared.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	transport, err := restclient.HTTPClientFor(shared)
	if err != nil {
		return nil, err
	}
	client := func(gv schema.GroupVersion) (*restclient.RESTClient, error) {
		c := restclient.CopyConfig(shared)
		c.GroupVersion, c.APIPath = &gv, "/apis"
		if gv.Group == "" {
			c.APIPath = "/api"
		}
		return restclient.RESTClientForConfigAndClient(c, transport)
	}
	if _, err := client(schema.GroupVersion{Version: "v1"}); err != nil {
		return nil, err
	}
	return func(_ schema.GroupVersionKind, r schema.GroupVersionResource) cache.ListerWatcher {
		c, err := client(r.GroupVersion())
		if err != nil {
			panic(err) // the versions differ in their paths only
		}
		return cache.NewListWatchFromClient(c, r.Resource, "", fields.Everything())
	}, nil
}

// InformerFor implements Shared. It panics if the Go type is not in client-go's scheme.
func (r *Remote) InformerFor(prototype runtime.Object) cache.SharedIndexInformer {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := reflect.TypeOf(prototype)
	i := r.informers[t]
	if i == nil {
		kinds, _, err := scheme.Scheme.ObjectKinds(prototype)
		if err != nil {
			panic(err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		i = cache.NewSharedIndexInformer(r.list(kinds[0], resource), prototype, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		r.informers[t] = i
	}
	return i
}

// StartWithContext implements Shared.
func (r *Remote) StartWithContext(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, i := range r.informers {
		if !r.started[t] {
			r.started[t] = true
			r.running.Go(func() { i.RunWithContext(ctx) })
		}
	}
}

// Shutdown implements Shared.
func (r *Remote) Shutdown() { r.running.Wait() }
