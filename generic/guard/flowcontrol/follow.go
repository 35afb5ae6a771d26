package flowcontrol

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Follow applies the flow schemas and priority levels of another API server, once they are synced and after
// each change, until ctx ends. It is for servers that do not have these objects themselves.
func (c *Controller) Follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	kinds := factory.Flowcontrol().V1()
	schemas, levels := kinds.FlowSchemas(), kinds.PriorityLevelConfigurations()
	var mu sync.Mutex // prevents an older list from overwriting a newer one
	apply := func() {
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
		AddFunc: func(any) { apply() }, UpdateFunc: func(any, any) { apply() }, DeleteFunc: func(any) { apply() },
	}
	for _, i := range []cache.SharedIndexInformer{schemas.Informer(), levels.Informer()} {
		if _, err := i.AddEventHandler(changed); err != nil {
			return // does not happen: the informers are not stopped
		}
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	apply()
	<-ctx.Done()
	factory.Shutdown()
}
