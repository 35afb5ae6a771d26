package disruption

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	serviceAccount = "disruption-controller"
	workers        = 3
	// batchDelay is the delay in which further pod changes are batched.
	batchDelay = 100 * time.Millisecond
)

type controller struct {
	env     *control.Env
	client  policyv1client.PodDisruptionBudgetsGetter
	dynamic dynamic.Interface
	events  *control.Recorder
	queue   *control.Queue[control.Key]
	now     func() time.Time
	known   control.Keys // budgets
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	config := e.As(serviceAccount)
	client, err := policyv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	anything, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, dynamic: anything, events: e.Recorder(serviceAccount, serviceAccount),
		now: time.Now}
	c.queue = control.NewQueue(e, "disruption", workers, c.sync)
	e.Feed.On(group.PodDisruptionBudgets(e.Stores).Resource(), c.budgetChanged)
	e.Feed.On(group.Pods(e.Stores).Resource(), func(o *control.Object) { c.podChanged(o.Namespace) })
	return c.queue, nil
}

func (c *controller) budgetChanged(o *control.Object) {
	if c.known.Set(control.KeyOf(o), !o.Deleted()); !o.Deleted() {
		c.queue.Add(control.KeyOf(o))
	}
}

func (c *controller) podChanged(namespace string) {
	for _, key := range c.known.Of(namespace) {
		c.queue.AddAfter(key, batchDelay)
	}
}

func (c *controller) sync(ctx context.Context, key control.Key) error {
	b, err := group.PodDisruptionBudgets(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	next := b.DeepCopy()
	outlook, failure := c.status(ctx, next)
	if failure != nil {
		next.Status.DisruptionsAllowed = 0
		setCondition(next, metav1.ConditionFalse, policyv1.SyncFailedReason, failure.Error())
		next.Status.ObservedGeneration = b.Generation
	}
	if outlook.recheck > 0 {
		c.queue.AddAfter(key, outlook.recheck)
	}
	if equality.Semantic.DeepEqual(b.Status, next.Status) {
		return failure
	}
	if outlook.unmanaged {
		c.events.Eventf(b, corev1.EventTypeWarning, "UnmanagedPods",
			"pods without a controller are not counted, since nothing says how many there should be; "+
				"they are where .spec.minAvailable is a number")
	}
	if _, err := c.client.PodDisruptionBudgets(key.Namespace).UpdateStatus(ctx, next,
		metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return failure
}

func setCondition(b *policyv1.PodDisruptionBudget, status metav1.ConditionStatus, reason, message string) {
	for i := range b.Status.Conditions {
		c := &b.Status.Conditions[i]
		if c.Type != policyv1.DisruptionAllowedCondition {
			continue
		}
		if c.Status != status {
			c.LastTransitionTime = metav1.Now()
		}
		c.Status, c.Reason, c.Message, c.ObservedGeneration = status, reason, message, b.Generation
		return
	}
	b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, Message: message,
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.Now(),
	})
}
