package quota

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"triplane/kubeapi/controllers/control"
)

const (
	workers        = 5
	serviceAccount = "resourcequota-controller"
	// settle is how long further changes are awaited before a quota is counted.
	settle = 200 * time.Millisecond
	// again is when a quota is counted once more whose use has changed: what
	// admission had charged may have been on its way.
	again = 2 * time.Second
	// resync is how often quotas are counted in any case.
	resync = 5 * time.Minute
)

var (
	quotas   = corev1.Resource("resourcequotas")
	pods     = corev1.Resource("pods")
	services = corev1.Resource("services")
	claims   = corev1.Resource("persistentvolumeclaims")
)

type controller struct {
	env      *control.Env
	client   corev1client.ResourceQuotasGetter
	metadata metadata.Interface
	queue    *control.Queue[control.Key]

	mu    sync.Mutex
	names map[string][]string // of the quotas of each namespace
}

// New makes the controller and returns how it works.
func New(e *control.Env) (func(context.Context), error) {
	config := e.As(serviceAccount)
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, metadata: meta, names: map[string][]string{}}
	c.queue = control.NewQueue(e, "resourcequota_primary", c.sync)
	e.Feed.On(quotas, c.quotaChanged)
	e.Feed.OnDeletion(func(o *control.Object) { c.lessUsed(o.Namespace) })
	e.Feed.On(pods, func(o *control.Object) {
		if o.Mentions(string(corev1.PodSucceeded)) || o.Mentions(string(corev1.PodFailed)) {
			c.lessUsed(o.Namespace)
		}
	})
	for _, gr := range []string{services.Resource, claims.Resource} {
		e.Feed.On(corev1.Resource(gr), func(o *control.Object) { c.lessUsed(o.Namespace) })
	}
	return func(ctx context.Context) { c.queue.Run(ctx, workers) }, nil
}

func (c *controller) quotaChanged(o *control.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.names[o.Namespace]
	switch known := slices.Contains(names, o.Name); {
	case o.Deleted():
		if names = slices.DeleteFunc(names, func(n string) bool { return n == o.Name }); len(names) == 0 {
			delete(c.names, o.Namespace)
		} else {
			c.names[o.Namespace] = names
		}
		return
	case !known:
		c.names[o.Namespace] = append(names, o.Name)
	}
	c.queue.Add(control.KeyOf(o))
}

// lessUsed has the quotas of a namespace counted soon.
func (c *controller) lessUsed(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.names[namespace] {
		c.queue.AddAfter(control.Key{Namespace: namespace, Name: name}, settle)
	}
}

// sync counts what is used of a quota, and writes what has changed.
func (c *controller) sync(ctx context.Context, key control.Key) error {
	q, err := control.Get[*corev1.ResourceQuota](ctx, c.env, quotas, key.Namespace, key.Name)
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
	c.queue.AddAfter(key, resync)
	status := corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: used}
	if equality.Semantic.DeepEqual(status, q.Status) {
		return nil
	}
	q.Status = status
	if _, err = c.client.ResourceQuotas(key.Namespace).UpdateStatus(ctx, q, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		c.queue.AddAfter(key, again)
	}
	return err
}
