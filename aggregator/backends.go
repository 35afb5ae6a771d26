package aggregator

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/generic/api/informers"
)

// backends caches the Services and EndpointSlices of remote APIServices. It starts watching them on first use: a
// server without remote APIServices caches no Services.
type backends struct {
	services, slices cache.SharedIndexInformer

	factory informers.Shared
	ctx     context.Context // bounds the watches
	once    sync.Once
}

// byService indexes EndpointSlices by the namespace and name of their Service.
const byService = "service"

func newBackends(ctx context.Context, f informers.Shared) (*backends, error) {
	b := &backends{
		services: f.InformerFor(&corev1.Service{}),
		slices:   f.InformerFor(&discoveryv1.EndpointSlice{}),
		factory:  f, ctx: ctx,
	}
	for _, i := range []cache.SharedIndexInformer{b.services, b.slices} {
		if err := i.SetTransform(trim); err != nil {
			return nil, err
		}
	}
	return b, b.slices.AddIndexers(cache.Indexers{byService: func(obj any) ([]string, error) {
		s := obj.(*discoveryv1.EndpointSlice)
		return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
	}})
}

// trim drops metadata that is not needed.
func trim(obj any) (any, error) {
	if m, ok := obj.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
	}
	return obj, nil
}

// onChange registers a handler of all events.
func (b *backends) onChange(h cache.ResourceEventHandler) error {
	for _, i := range []cache.SharedIndexInformer{b.services, b.slices} {
		if _, err := i.AddEventHandler(h); err != nil {
			return err
		}
	}
	return nil
}

// service returns a Service, or a NotFound error.
func (b *backends) service(namespace, name string) (*corev1.Service, error) {
	b.awaitSynced()
	obj, ok, err := b.services.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.NewNotFound(corev1.Resource("service"), name)
	}
	return obj.(*corev1.Service), nil
}

// slicesOf returns the EndpointSlices of a Service.
func (b *backends) slicesOf(namespace, name string) ([]*discoveryv1.EndpointSlice, error) {
	b.awaitSynced()
	objs, err := b.slices.GetIndexer().ByIndex(byService, namespace+"/"+name)
	out := make([]*discoveryv1.EndpointSlice, 0, len(objs))
	for _, obj := range objs {
		out = append(out, obj.(*discoveryv1.EndpointSlice))
	}
	return out, err
}

func (b *backends) start() { b.once.Do(func() { b.factory.StartWithContext(b.ctx) }) }

// synced waits until all objects that existed when start was called are cached.
func (b *backends) synced(ctx context.Context) bool {
	b.start()
	return cache.WaitFor(ctx, "", b.services.HasSyncedChecker(), b.slices.HasSyncedChecker())
}

// firstSync bounds the first wait for the caches.
const firstSync = 10 * time.Second

// awaitSynced is like synced, for callers that cannot retry: after firstSync they use the objects cached so far.
func (b *backends) awaitSynced() {
	if b.services.HasSynced() && b.slices.HasSynced() {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, firstSync)
	defer cancel()
	b.synced(ctx)
}

// shutdown waits until the watches have ended.
func (b *backends) shutdown() { b.factory.Shutdown() }
