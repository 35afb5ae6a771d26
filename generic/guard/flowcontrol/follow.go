package flowcontrol

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	flowcontrollisters "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"
)

// Follow applies the flow schemas and priority levels of another API server, once their informers are synced and
// after each change, until ctx ends. It is for servers that do not have these objects themselves. The caller runs
// the informers.
func (c *Controller) Follow(ctx context.Context, flowSchemas, priorityLevels cache.SharedIndexInformer) {
	schemas := flowcontrollisters.NewFlowSchemaLister(flowSchemas.GetIndexer())
	levels := flowcontrollisters.NewPriorityLevelConfigurationLister(priorityLevels.GetIndexer())
	var mu sync.Mutex // prevents an older list from overwriting a newer one
	apply := func() {
		mu.Lock()
		defer mu.Unlock()
		if !flowSchemas.HasSynced() || !priorityLevels.HasSynced() {
			return
		}
		s, err := schemas.List(labels.Everything())
		l, levelsErr := levels.List(labels.Everything())
		if err == nil && levelsErr == nil {
			c.Update(s, l)
		}
	}
	changed := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { apply() }, UpdateFunc: func(any, any) { apply() }, DeleteFunc: func(any) { apply() },
	}
	for _, i := range []cache.SharedIndexInformer{flowSchemas, priorityLevels} {
		if _, err := i.AddEventHandler(changed); err != nil {
			return // does not happen: the informers are not stopped
		}
	}
	cache.WaitForCacheSync(ctx.Done(), flowSchemas.HasSynced, priorityLevels.HasSynced)
	apply()
	<-ctx.Done()
}
