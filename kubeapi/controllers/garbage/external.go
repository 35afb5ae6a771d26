package garbage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
)

// external watches the metadata of resources of external servers, as they are added and removed.
type external struct {
	*controller
	served    *discovery.Following
	following worker.Group // one for each running
	running   map[schema.GroupVersionResource]context.CancelFunc
}

// Start implements worker.Runner.
func (e *external) Start(ctx context.Context) {
	e.running = map[schema.GroupVersionResource]context.CancelFunc{}
	e.served = e.env.Resources.Following(e.changed)
	e.served.Start(ctx)
}

// Wait implements worker.Runner.
func (e *external) Wait() {
	e.served.Wait()
	e.following.Wait()
}

func (e *external) changed(ctx context.Context, _ []schema.GroupVersion) {
	e.env.Resources.Refresh()
	served := map[schema.GroupVersionResource]bool{}
	for _, r := range e.env.Resources.All() {
		if !r.External || !r.Can("list", "watch", "delete") {
			continue
		}
		served[r.GroupVersionResource] = true
		if e.running[r.GroupVersionResource] == nil {
			one, stop := context.WithCancel(ctx)
			e.running[r.GroupVersionResource] = stop
			e.following.Go(func() { e.followOne(one, &r) })
		}
	}
	for gvr, stop := range e.running {
		if !served[gvr] {
			stop()
			delete(e.running, gvr)
		}
	}
}

// followOne watches one resource until ctx is done.
func (c *controller) followOne(ctx context.Context, r *control.Resource) {
	objects := c.client.Resource(r.GroupVersionResource)
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, o)
		},
	}, c.client), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	keyOf := func(o *metav1.PartialObjectMetadata) string { return c.keyOf(r, o.Namespace, o.Name) }
	see := func(obj any) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			m := metaOf(o)
			if m.Deleting || len(m.Owners) > 0 || c.graph.known(keyOf(o)) {
				c.graph.observe(place{keyOf(o), r.GroupResource(), o.Namespace, o.Name}, &m, versionOf(o))
			}
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, obj any) { see(obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
				c.graph.setAbsent(ident{keyOf(o), o.UID})
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch a resource for garbage collection", "resource",
			r.GroupVersionResource.String())
		return
	}
	var running worker.Group
	defer running.Wait()
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return
	}
	c.removeMissing(ctx, r)
	<-ctx.Done()
}

// removeMissing finds objects that were deleted while the resource was not watched.
func (c *controller) removeMissing(ctx context.Context, r *control.Resource) {
	for _, id := range c.graph.presentOf(r.GroupResource()) {
		at := c.graph.where(id)
		if at == nil {
			continue
		}
		objects, err := c.objects(at.resource, at.namespace)
		if err != nil {
			return
		}
		o, err := objects.Get(ctx, at.name, metav1.GetOptions{})
		if isAbsent(err) || err == nil && o.UID != id.uid {
			c.graph.setAbsent(id)
		}
	}
}
