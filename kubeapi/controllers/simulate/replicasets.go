package simulate

import (
	"cmp"
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const replicaSetAccount = "replicaset-controller"

func replicaSetKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
}

type replicaSets struct {
	*base
	client appsv1client.ReplicaSetsGetter
}

// NewReplicaSets returns the controller of ReplicaSets.
func NewReplicaSets(e *control.Env) (worker.Runner, error) {
	client, err := appsv1client.NewForConfig(e.As(replicaSetAccount))
	if err != nil {
		return nil, err
	}
	c := &replicaSets{client: client}
	c.base, err = newBase(e, replicaSetAccount, replicaSetKind(), group.ReplicaSets(e.Stores).Resource(), c.sync)
	if err != nil {
		return nil, err
	}
	return c.queue, nil
}

func (c *replicaSets) sync(ctx context.Context, key control.Key) error {
	rs, err := group.ReplicaSets(c.env.Stores).GetConsistent(control.Reading(ctx), key.Namespace, key.Name)
	if err != nil {
		return ignoreNotFound(err)
	}
	pods, err := c.podsOf(ctx, rs)
	if err != nil {
		return err
	}
	active := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !isActive(p) })
	var failure error
	if rs.DeletionTimestamp == nil {
		failure = c.scale(ctx, rs, active)
	}
	return errors.Join(failure, c.report(ctx, rs, active, failure))
}

// scale creates or deletes pods until there are as many as the spec wants.
func (c *replicaSets) scale(ctx context.Context, rs *appsv1.ReplicaSet, active []*corev1.Pod) error {
	wanted := int(replicasOf(rs.Spec.Replicas))
	for range min(wanted-len(active), podBurst) {
		if err := c.create(ctx, rs, replicaSetKind(), podOf(&rs.Spec.Template)); err != nil {
			return err
		}
	}
	if len(active) <= wanted {
		return nil
	}
	// Pods that are not ready are deleted first, then the newest.
	slices.SortFunc(active, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(number(isReady(a)), number(isReady(b))),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range active[:len(active)-wanted] {
		if err := c.remove(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// report updates the status. active are the pods before scale.
func (c *replicaSets) report(ctx context.Context, rs *appsv1.ReplicaSet, active []*corev1.Pod, failure error) error {
	next := rs.DeepCopy()
	s, n := &next.Status, count(active, rs.Spec.MinReadySeconds)
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = int32(len(active)), n.ready, n.available
	s.FullyLabeledReplicas = 0
	selector := labels.SelectorFromSet(rs.Spec.Template.Labels)
	for _, p := range active {
		if selector.Matches(labels.Set(p.Labels)) {
			s.FullyLabeledReplicas++
		}
	}
	s.ObservedGeneration = rs.Generation
	s.Conditions = slices.DeleteFunc(s.Conditions,
		func(c appsv1.ReplicaSetCondition) bool {
			return c.Type == appsv1.ReplicaSetReplicaFailure && failure == nil
		})
	if failure != nil && len(s.Conditions) == 0 {
		s.Conditions = append(s.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure,
			Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: failure.Error(),
			LastTransitionTime: metav1.Now()})
	}
	if n.next > 0 {
		c.queue.AddAfter(control.Key{Namespace: rs.Namespace, Name: rs.Name}, n.next)
	}
	if equality.Semantic.DeepEqual(rs.Status, next.Status) {
		return nil
	}
	_, err := c.client.ReplicaSets(rs.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// replicasOf returns the number of replicas of a spec, 1 by default.
func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
