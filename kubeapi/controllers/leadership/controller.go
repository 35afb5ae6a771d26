package leadership

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// Hook is the name of the post-start hook that runs the controller.
const Hook = "start-kube-apiserver-coordinated-leader-election-controller"

const (
	byLease = "lease" // an index of candidates
	// electionWindow is how long candidates have to respond to a ping.
	electionWindow = 5 * time.Second
)

// controller elects leaders. Create it with newController.
type controller struct {
	client     *client
	durations  Durations
	leases     cache.SharedIndexInformer
	candidates cache.SharedIndexInformer
	queue      workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// rounds has the start times of elections in progress, by Lease. Only the single worker uses it.
	rounds map[types.NamespacedName]time.Time
}

// newController returns a controller that uses a client.
func newController(client *client, d Durations) (*controller, error) {
	c := &controller{client: client, durations: d, rounds: map[types.NamespacedName]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())}
	c.leases = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.Leases("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Leases("").Watch(ctx, o)
		},
	}, &coordinationv1.Lease{}, 0, cache.Indexers{})
	c.candidates = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.LeaseCandidates("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.LeaseCandidates("").Watch(ctx, o)
		},
	}, &coordinationv1beta1.LeaseCandidate{}, 0, cache.Indexers{byLease: func(obj any) ([]string, error) {
		return []string{leaseOf(obj).String()}, nil
	}})
	for _, informer := range []cache.SharedIndexInformer{c.leases, c.candidates} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    c.enter,
			UpdateFunc: func(_, obj any) { c.enter(obj) },
			DeleteFunc: func(obj any) { c.queue.Add(leaseOf(obj)) }, // deletion of the last candidate ends the election
		}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// leaseOf returns the Lease of an object: itself, or the Lease of a candidate.
func leaseOf(obj any) types.NamespacedName {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	switch o := obj.(type) {
	case candidate:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.LeaseName}
	case *coordinationv1.Lease:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	}
	return types.NamespacedName{}
}

// enter enqueues a Lease with candidates.
func (c *controller) enter(obj any) {
	key := leaseOf(obj)
	if keys, err := c.candidates.GetIndexer().IndexKeys(byLease, key.String()); err == nil && len(keys) > 0 {
		c.queue.Add(key)
	}
}

// work elects until ctx is done.
func (c *controller) work(ctx context.Context) {
	done := make(chan struct{})
	for _, informer := range []cache.SharedIndexInformer{c.leases, c.candidates} {
		worker.Go(func() {
			informer.RunWithContext(ctx)
			done <- struct{}{}
		})
	}
	defer func() { <-done; <-done }()
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), c.leases.HasSynced, c.candidates.HasSynced) {
		return
	}
	for {
		key, over := c.queue.Get()
		if over {
			return
		}
		again, err := c.elect(ctx, key, time.Now())
		switch {
		case err != nil && ctx.Err() == nil:
			klog.V(2).InfoS("Failed to elect a leader", "lease", key, "err", err)
			c.queue.AddRateLimited(key)
		case again > 0:
			c.queue.Forget(key)
			c.queue.AddAfter(key, again)
		default:
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}
