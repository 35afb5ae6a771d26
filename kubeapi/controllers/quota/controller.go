package quota

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers        = 5
	serviceAccount = "resourcequota-controller"
	// batchDelay is the delay in which further changes are batched.
	batchDelay = 200 * time.Millisecond
	// calm is how long no charge to a quota must have happened before its usage is lowered, because an object is
	// charged before it is stored. patience bounds that wait.
	calm, patience = 300 * time.Millisecond, 5 * time.Second
	// resync is the interval at which all quotas are recounted.
	resync = 5 * time.Minute
)

type controller struct {
	env      *control.Env
	client   corev1client.ResourceQuotasGetter
	metadata metadata.Interface
	queue    *control.Queue[control.Key]

	mu    sync.Mutex
	names map[string]map[string]*use // by namespace and name of the quota
}

// use records when a quota was last charged, and since when lowering its usage is postponed.
type use struct{ charged, postponed time.Time }

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	config := e.As(serviceAccount)
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, metadata: meta, names: map[string]map[string]*use{}}
	c.queue = control.NewQueue(e, "resourcequota_primary", workers, c.sync)
	e.Feed.On(group.ResourceQuotas(e.Stores).Resource(), c.quotaChanged)
	e.Feed.OnDeletion(func(o *control.Object) { c.usageDropped(o.Namespace) })
	e.Feed.On(group.Pods(e.Stores).Resource(), func(o *control.Object) {
		if o.Mentions(string(corev1.PodSucceeded)) || o.Mentions(string(corev1.PodFailed)) {
			c.usageDropped(o.Namespace)
		}
	})
	for _, gr := range []schema.GroupResource{group.Services(e.Stores).Resource(),
		group.PersistentVolumeClaims(e.Stores).Resource()} {
		e.Feed.On(gr, func(o *control.Object) { c.usageDropped(o.Namespace) })
	}
	return c.queue, nil
}

func (c *controller) quotaChanged(o *control.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.names[o.Namespace]
	if o.Deleted() {
		if delete(names, o.Name); len(names) == 0 {
			delete(c.names, o.Namespace)
		}
		return
	}
	if names == nil {
		names = map[string]*use{}
		c.names[o.Namespace] = names
	}
	known := names[o.Name]
	if known == nil {
		known = &use{}
		names[o.Name] = known
		c.queue.Add(control.KeyOf(o))
	}
	known.charged = time.Now()
	q, err := control.Decode(o, &corev1.ResourceQuota{})
	if err == nil && !equality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard) {
		c.queue.Add(control.KeyOf(o))
	}
}

// mayWrite reports whether the usage of a quota can be written now. Lowering it waits until no charges happened
// for calm, at most for patience.
func (c *controller) mayWrite(key control.Key, lower bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, now := c.names[key.Namespace][key.Name], time.Now()
	if known == nil {
		return true
	}
	if known.postponed.IsZero() {
		known.postponed = now
	}
	if lower && now.Sub(known.charged) < calm && now.Sub(known.postponed) < patience {
		return false
	}
	known.postponed = time.Time{}
	return true
}

// usageDropped enqueues the quotas of a namespace.
func (c *controller) usageDropped(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.names[namespace] {
		c.queue.AddAfter(control.Key{Namespace: namespace, Name: name}, batchDelay)
	}
}

// sync recounts the usage of a quota, and writes changes.
func (c *controller) sync(ctx context.Context, key control.Key) error {
	q, err := group.ResourceQuotas(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	used, err := c.count(ctx, q)
	if err != nil {
		return err
	}
	c.queue.Recheck(key, resync)
	status := corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: used}
	if equality.Semantic.DeepEqual(status, q.Status) {
		return nil
	}
	if !c.mayWrite(key, lowers(used, q.Status.Used)) {
		c.queue.AddAfter(key, calm)
		return nil
	}
	q.Status = status
	if _, err = c.client.ResourceQuotas(key.Namespace).UpdateStatus(ctx, q,
		metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// lowers reports whether the usage of a resource decreases.
func lowers(used, before corev1.ResourceList) bool {
	for name, amount := range before {
		if now, ok := used[name]; ok && now.Cmp(amount) < 0 {
			return true
		}
	}
	return false
}
