package flowcontrol

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Follow puts the flow schemas and priority levels of another API server into force, when it knows
// all of them and after each change, until ctx ends. It is for servers that have none themselves.
func (c *Controller) Follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	kinds := factory.Flowcontrol().V1()
	schemas, levels := kinds.FlowSchemas(), kinds.PriorityLevelConfigurations()
	var mu sync.Mutex // keeps an older list from coming after a newer one
	inForce := func() {
		mu.Lock()
		defer mu.Unlock()
		if !schemas.Informer().HasSynced() || !levels.Informer().HasSynced() {
			return
		}
		s, err := schemas.Lister().List(labels.Everything())
		l, levelsErr := levels.Lister().List(labels.Everything())
		if err == nil && levelsErr == nil {
			c.Update(s, l)
		}
	}
	changed := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { inForce() }, UpdateFunc: func(any, any) { inForce() }, DeleteFunc: func(any) { inForce() },
	}
	for _, i := range []cache.SharedIndexInformer{schemas.Informer(), levels.Informer()} {
		if _, err := i.AddEventHandler(changed); err != nil {
			return // they are new
		}
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	inForce()
	<-ctx.Done()
	factory.Shutdown()
}
