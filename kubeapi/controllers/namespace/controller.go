package namespace

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// workers is how many namespaces are emptied concurrently.
const workers = 10

const (
	// batchDelay is the delay in which further deletions are batched, before a namespace with remaining content is
	// retried.
	batchDelay = 100 * time.Millisecond
	// lookAgain is the retry interval without deletions, because those at external servers are not visible.
	lookAgain = 5 * time.Second
)

// controller deletes the content of namespaces.
type controller struct {
	env      *control.Env
	client   corev1client.NamespaceInterface
	metadata metadata.Interface
	queue    *control.Queue[string]
	grace    time.Duration
	waiting  control.Keys // namespaces with remaining content
}

// New returns the controller. It waits for grace before it empties a deleted namespace.
func New(e *control.Env, grace time.Duration) (worker.Runner, error) {
	config := e.As("namespace-controller")
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: core.Namespaces(), metadata: meta, grace: grace}
	c.queue = control.NewQueue(e, "namespace", workers, c.sync)
	e.Feed.On(group.Namespaces(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() && control.Related(o.Value) {
			c.queue.Add(o.Name)
		}
	})
	e.Feed.OnDeletion(func(o *control.Object) {
		if o.Namespace != "" && c.waiting.Has(control.Key{Name: o.Namespace}) {
			c.queue.AddAfter(o.Namespace, batchDelay)
		}
	})
	return c.queue, nil
}

// await makes deletions of content enqueue the namespace, or stops that.
func (c *controller) await(name string, wait bool) { c.waiting.Set(control.Key{Name: name}, wait) }

// sync empties a namespace that is being deleted.
func (c *controller) sync(ctx context.Context, name string) error {
	ns, err := group.Namespaces(c.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		c.await(name, false)
		return nil
	}
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return nil
	}
	// The timestamp has whole seconds: the deletion may be a second later.
	if left := time.Until(ns.DeletionTimestamp.Add(time.Second + c.grace)); c.grace > 0 && left > 0 {
		c.queue.AddAfter(name, left)
		return nil
	}
	c.await(name, true) // notice deletions from here on
	p := c.purge(ctx, name)
	if ns, err = c.report(ctx, ns, p); err != nil {
		return ignoreGone(err)
	}
	switch {
	case len(p.errs) > 0 || len(p.unavailable) > 0:
		return fmt.Errorf("namespace %s: %w", name, p.failure())
	case p.remains():
		c.queue.Recheck(name, max(p.grace/2, lookAgain)) // others delete what remains
		return nil
	}
	c.await(name, false)
	return ignoreGone(c.finalize(ctx, ns))
}

// report updates the conditions, if they change.
func (c *controller) report(ctx context.Context, ns *corev1.Namespace, p *purge) (*corev1.Namespace, error) {
	next := ns.DeepCopy()
	if !p.condition(&next.Status) {
		return ns, nil
	}
	next.Status.Phase = corev1.NamespaceTerminating
	return c.client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
}

// finalize removes the finalizer, which deletes the namespace unless it has others.
func (c *controller) finalize(ctx context.Context, ns *corev1.Namespace) error {
	ns = ns.DeepCopy()
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers,
		func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	ns, err := c.client.Finalize(ctx, ns, metav1.UpdateOptions{})
	if err != nil || len(ns.Spec.Finalizers) > 0 || len(ns.Finalizers) > 0 {
		return err
	}
	uid := ns.UID
	return c.client.Delete(ctx, ns.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
