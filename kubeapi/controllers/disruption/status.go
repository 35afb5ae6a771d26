package disruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// evictionTime is how long an evicted pod that is not deleted counts as disrupted.
const evictionTime = 2 * time.Minute

// outlook is additional information about a status.
type outlook struct {
	recheck   time.Duration // when it changes without an event, 0 for never
	unmanaged bool          // pods without a controller are not counted
}

// status computes the status of a budget.
func (c *controller) status(ctx context.Context, b *policyv1.PodDisruptionBudget) (o outlook, err error) {
	selected, err := c.selected(ctx, b)
	if err != nil {
		return o, err
	}
	expected, desired, err := c.expected(ctx, b, selected, &o)
	if err != nil {
		return o, err
	}
	disrupted, recheck := c.disrupted(b, selected)
	o.recheck = recheck
	healthy := int32(0)
	for _, p := range selected {
		if _, evicted := disrupted[p.Name]; !evicted && p.DeletionTimestamp == nil && ready(p) {
			healthy++
		}
	}
	s := &b.Status
	s.ObservedGeneration, s.DisruptedPods = b.Generation, disrupted
	s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy = expected, desired, healthy
	if s.DisruptionsAllowed = max(0, healthy-desired); expected <= 0 {
		s.DisruptionsAllowed = 0
	}
	if s.DisruptionsAllowed > 0 {
		setCondition(b, metav1.ConditionTrue, policyv1.SufficientPodsReason, "")
	} else {
		setCondition(b, metav1.ConditionFalse, policyv1.InsufficientPodsReason, "")
	}
	return o, nil
}

// selected returns the pods of a budget that have not terminated.
func (c *controller) selected(ctx context.Context, b *policyv1.PodDisruptionBudget) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all, err := group.Pods(c.env.Stores).ListCached(control.Reading(ctx), b.Namespace)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Pod
	for _, p := range all {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed &&
			selector.Matches(labels.Set(p.Labels)) {
			out = append(out, p)
		}
	}
	return out, nil
}

func ready(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// disrupted returns the pods that were evicted but not deleted yet, and when the next of them expires.
func (c *controller) disrupted(
	b *policyv1.PodDisruptionBudget, selected []*corev1.Pod,
) (map[string]metav1.Time, time.Duration) {
	var out map[string]metav1.Time
	var recheck time.Duration
	for _, p := range selected {
		at, ok := b.Status.DisruptedPods[p.Name]
		if !ok || p.DeletionTimestamp != nil {
			continue
		}
		left := at.Add(evictionTime).Sub(c.now())
		if left <= 0 {
			continue
		}
		if out == nil {
			out = map[string]metav1.Time{}
		}
		out[p.Name] = at
		if recheck == 0 || left < recheck {
			recheck = left
		}
	}
	return out, recheck
}

// expected returns the number of expected pods, and how many of them must be healthy.
func (c *controller) expected(
	ctx context.Context, b *policyv1.PodDisruptionBudget, selected []*corev1.Pod, o *outlook,
) (expected, desired int32, err error) {
	switch {
	case b.Spec.MaxUnavailable != nil:
		if expected, err = c.scale(ctx, selected, o); err != nil {
			return 0, 0, err
		}
		most, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, int(expected), true)
		return expected, max(0, expected-int32(most)), err
	case b.Spec.MinAvailable == nil:
		return int32(len(selected)), 0, nil
	case b.Spec.MinAvailable.Type == intstr.Int:
		return int32(len(selected)), b.Spec.MinAvailable.IntVal, nil
	}
	if expected, err = c.scale(ctx, selected, o); err != nil {
		return 0, 0, err
	}
	least, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, int(expected), true)
	return expected, int32(least), err
}

// scale sums the scale of the pods' controllers; pods without a controller do not count.
func (c *controller) scale(ctx context.Context, selected []*corev1.Pod, o *outlook) (int32, error) {
	seen := map[types.UID]bool{}
	total := int32(0)
	for _, p := range selected {
		ref := metav1.GetControllerOf(p)
		if ref == nil {
			o.unmanaged = true
			continue
		}
		if seen[ref.UID] {
			continue
		}
		seen[ref.UID] = true
		owner, n, err := c.scaleOf(ctx, p.Namespace, ref)
		if err != nil {
			return 0, err
		}
		if owner != ref.UID && seen[owner] {
			continue // another ReplicaSet of the same Deployment
		}
		seen[owner] = true
		total += n
	}
	return total, nil
}

// scaleOf returns the scale of a controller; for a ReplicaSet, that of the Deployment that controls it. It follows
// no further owners, because clients may write circular references.
func (c *controller) scaleOf(
	ctx context.Context, namespace string, ref *metav1.OwnerReference,
) (types.UID, int32, error) {
	if ref.Kind == "ReplicaSet" {
		set, err := c.get(ctx, namespace, ref)
		if err != nil {
			return "", 0, err
		}
		if above := metav1.GetControllerOf(set); above != nil {
			ref = above
		}
	}
	scale, err := c.get(ctx, namespace, ref, "scale")
	if err != nil {
		return "", 0, err
	}
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return ref.UID, int32(n), err
}

// get returns the object of a reference, or its subresource.
func (c *controller) get(
	ctx context.Context, namespace string, ref *metav1.OwnerReference, subresources ...string,
) (*unstructured.Unstructured, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	r, ok := c.env.Resources.OfKind(kind)
	if !ok {
		return nil, fmt.Errorf("%s is not served", kind)
	}
	return c.dynamic.Resource(r.GroupVersionResource).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{},
		subresources...)
}
