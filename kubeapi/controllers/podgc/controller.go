package podgc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	serviceAccount = "pod-garbage-collector"
	// every is the interval of checks while pods and nodes change.
	every = 20 * time.Second
	// quarantine is how long a node must be missing before its pods are deleted.
	quarantine = 40 * time.Second
	// all is the only key of the queue.
	all = "pods"
)

type controller struct {
	env       *control.Env
	client    corev1client.CoreV1Interface
	queue     *control.Queue[string]
	threshold int
	now       func() time.Time
	// away is since when nodes of pods are missing. Only the single worker uses it.
	away map[string]time.Time
}

// New returns the controller. threshold is how many terminated pods are kept; 0 or less keeps all.
func New(e *control.Env, threshold int) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, threshold: threshold, now: time.Now, away: map[string]time.Time{}}
	c.queue = control.NewQueue(e, "pod_garbage_collector", 1, c.sync)
	changed := func(*control.Object) { c.queue.AddAfter(all, every) }
	e.Feed.On(group.Pods(e.Stores).Resource(), changed)
	e.Feed.On(group.Nodes(e.Stores).Resource(), func(o *control.Object) {
		if o.Deleted() || o.Mentions(corev1.TaintNodeOutOfService) {
			changed(o)
		}
	})
	return c.queue, nil
}

// sync checks all pods.
func (c *controller) sync(ctx context.Context, _ string) error {
	list, err := group.Pods(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	known, err := group.Nodes(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	return errors.Join(c.ended(ctx, list), c.deleteAll(ctx, unattended(list, known), nil), c.orphaned(ctx, list, known))
}

// ended deletes the oldest terminated pods beyond the threshold.
func (c *controller) ended(ctx context.Context, list []*corev1.Pod) error {
	if c.threshold <= 0 {
		return nil
	}
	var done []*corev1.Pod
	for _, p := range list {
		if hasEnded(p) {
			done = append(done, p)
		}
	}
	if len(done) <= c.threshold {
		return nil
	}
	slices.SortFunc(done, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return c.deleteAll(ctx, done[:len(done)-c.threshold], nil)
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// unattended returns the pods that are being deleted without a kubelet: they have no node, or their node is out of
// service.
func unattended(list []*corev1.Pod, known []*corev1.Node) []*corev1.Pod {
	left := map[string]bool{"": true}
	for _, n := range known {
		left[n.Name] = outOfService(n)
	}
	var some []*corev1.Pod
	for _, p := range list {
		if p.DeletionTimestamp != nil && left[p.Spec.NodeName] {
			some = append(some, p)
		}
	}
	return some
}

// outOfService reports whether a node is not ready and has the out-of-service taint.
func outOfService(n *corev1.Node) bool {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return !ready && slices.ContainsFunc(n.Spec.Taints,
		func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// orphaned deletes the pods of nodes that have been missing for long enough.
func (c *controller) orphaned(ctx context.Context, list []*corev1.Pod, known []*corev1.Node) error {
	exists := map[string]bool{}
	for _, n := range known {
		exists[n.Name] = true
	}
	left := map[string][]*corev1.Pod{} // by node
	for _, p := range list {
		if node := p.Spec.NodeName; node != "" && !exists[node] {
			left[node] = append(left[node], p)
		}
	}
	away := map[string]time.Time{}
	var some []*corev1.Pod
	for node, its := range left {
		since, seen := c.away[node]
		if !seen {
			since = c.now()
		}
		away[node] = since
		if c.now().Sub(since) < quarantine {
			continue
		}
		gone, err := c.nodeIsGone(ctx, node)
		if err != nil {
			return err
		}
		if gone {
			klog.InfoS("Deleting pods of a missing node", "node", node, "pods", len(its))
			some = append(some, its...)
		}
	}
	c.away = away
	if len(away) > 0 {
		c.queue.AddAfter(all, every)
	}
	return c.deleteAll(ctx, some, &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC",
		Message:            "PodGC: node no longer exists",
		LastTransitionTime: metav1.NewTime(c.now()),
	})
}

func (c *controller) nodeIsGone(ctx context.Context, name string) (bool, error) {
	_, err := c.client.Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// deleteAll deletes pods without a grace period. It marks those that have not terminated as failed before, with a
// condition if there is one.
func (c *controller) deleteAll(ctx context.Context, some []*corev1.Pod, condition *corev1.PodCondition) error {
	var errs []error
	for _, p := range some {
		if !hasEnded(p) {
			if err := c.fail(ctx, p, condition); err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, err)
				continue
			}
		}
		zero := int64(0)
		err := c.client.Pods(p.Namespace).Delete(ctx, p.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &p.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *controller) fail(ctx context.Context, p *corev1.Pod, condition *corev1.PodCondition) error {
	status := map[string]any{"phase": corev1.PodFailed}
	if condition != nil {
		status["conditions"] = []*corev1.PodCondition{condition}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = c.client.Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
	return err
}
