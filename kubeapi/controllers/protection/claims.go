package protection

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers        = 3
	claimFinalizer = "kubernetes.io/pvc-protection"
	// batchDelay is the delay in which further pod changes are batched.
	batchDelay = 100 * time.Millisecond
)

type claimController struct {
	env    *control.Env
	client corev1client.CoreV1Interface
	queue  *control.Queue[control.Key]
	held   control.Keys // claims whose deletion waits for pods
}

// NewClaims returns the controller of claims.
func NewClaims(e *control.Env) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As("pvc-protection-controller"))
	if err != nil {
		return nil, err
	}
	c := &claimController{env: e, client: client}
	c.queue = control.NewQueue(e, "pvcprotection", workers, c.sync)
	e.Feed.On(group.PersistentVolumeClaims(e.Stores).Resource(), func(o *control.Object) {
		c.held.Set(control.KeyOf(o), false)
		if !o.Deleted() {
			c.queue.Add(control.KeyOf(o))
		}
	})
	e.Feed.On(group.Pods(e.Stores).Resource(), func(o *control.Object) { c.podChanged(o.Namespace) })
	return c.queue, nil
}

// podChanged enqueues the claims of a namespace that wait for pods.
func (c *claimController) podChanged(namespace string) {
	for _, key := range c.held.Of(namespace) {
		c.queue.AddAfter(key, batchDelay)
	}
}

func (c *claimController) sync(ctx context.Context, key control.Key) error {
	claim, err := group.PersistentVolumeClaims(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	protected := slices.Contains(claim.Finalizers, claimFinalizer)
	switch deleting := claim.DeletionTimestamp != nil; {
	case !deleting && !protected:
		claim.Finalizers = append(claim.Finalizers, claimFinalizer)
	case deleting && protected:
		c.held.Set(key, true) // notice deletions of pods from here on
		if used, err := c.used(ctx, claim); err != nil || used {
			return err
		}
		claim.Finalizers = without(claim.Finalizers, claimFinalizer)
	default:
		return nil
	}
	_, err = c.client.PersistentVolumeClaims(key.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// used reports whether a pod uses a claim. If no cached pod does, it lists the pods consistently, to include those
// just created.
func (c *claimController) used(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	cached, err := group.Pods(c.env.Stores).ListCached(control.Reading(ctx), claim.Namespace)
	if err != nil || slices.ContainsFunc(cached, func(p *corev1.Pod) bool { return uses(p, claim) }) {
		return true, err
	}
	live, err := c.client.Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return true, err
	}
	for i := range live.Items {
		if uses(&live.Items[i], claim) {
			return true, nil
		}
	}
	return false, nil
}

// uses reports whether a scheduled pod uses a claim. Kubelets start no pod with a claim that is being deleted.
func uses(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name:
			return true
		case v.Ephemeral != nil && p.Name+"-"+v.Name == claim.Name && metav1.IsControlledBy(claim, p):
			return true
		}
	}
	return false
}

func without(list []string, text string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == text })
}
