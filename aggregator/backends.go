package aggregator

import (
	"context"
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// backends knows the Services and EndpointSlices that remote APIServices may
// name. It watches them only once started: a server without remote APIServices
// keeps no copy of every Service.
type backends struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	factory   informers.SharedInformerFactory
	informers []cache.SharedIndexInformer
	ctx       context.Context // ends the watches
	once      sync.Once
}

func newBackends(ctx context.Context, client kubernetes.Interface) *backends {
	f := informers.NewSharedInformerFactory(client, 0)
	services, slices := f.Core().V1().Services(), f.Discovery().V1().EndpointSlices()
	return &backends{
		services: services.Lister(), slices: slices.Lister(),
		factory: f, informers: []cache.SharedIndexInformer{services.Informer(), slices.Informer()}, ctx: ctx,
	}
}

// onChange registers what is called for each event.
func (b *backends) onChange(h cache.ResourceEventHandler) error {
	for _, i := range b.informers {
		if _, err := i.AddEventHandler(h); err != nil {
			return err
		}
	}
	return nil
}

func (b *backends) start() { b.once.Do(func() { b.factory.Start(b.ctx.Done()) }) }

// synced waits until all that existed when start was called is known.
func (b *backends) synced(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), b.informers[0].HasSynced, b.informers[1].HasSynced)
}

// shutdown waits for the watches to end.
func (b *backends) shutdown() { b.factory.Shutdown() }
