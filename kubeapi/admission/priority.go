package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// priority sets the priority and preemption policy of a pod from its priority class, and those of pod groups, and
// rejects a second default class.
//
// Options: none. Metrics: none. Order: before ResourceQuota, whose scopes select by priority class.
type priority struct{ stores *group.Stores }

func newPriority(d *Dependencies) admission.Interface {
	return &priority{stores: d.Stores}
}

// Handles implements admission.Interface.
func (*priority) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutatingInterface.
func (p *priority) Admit(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return p.admitGroup(ctx, a)
	}
	if a.Operation == admission.Update {
		old, ok := a.OldObject.(*corev1.Pod)
		if ok && pod.Spec.Priority == nil && old.Spec.Priority != nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if ok && pod.Spec.PreemptionPolicy == nil && old.Spec.PreemptionPolicy != nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	value, policy, err := p.of(ctx, a, &pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != value {
		return admission.Forbiddenf(a,
			"the integer value of priority (%d) must not be provided in pod spec; priority admission controller "+
				"computed %d from the given PriorityClass name", *pod.Spec.Priority, value)
	}
	pod.Spec.Priority = &value
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return admission.Forbiddenf(a,
			"the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission "+
				"controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// admitGroup sets the priority of a new pod group or composite pod group.
func (p *priority) admitGroup(ctx context.Context, a *admission.Attributes) error {
	if a.Operation != admission.Create || a.Subresource != "" {
		return nil
	}
	switch g := a.Object.(type) {
	case *schedulingv1alpha3.PodGroup:
		return p.ofGroup(ctx, a, groupPriority{"pod group", &g.Spec.PriorityClassName, &g.Spec.Priority,
			g.Spec.PreemptionPolicy})
	case *schedulingv1alpha3.CompositePodGroup:
		return p.ofGroup(ctx, a, groupPriority{"composite pod group", &g.Spec.PriorityClassName, &g.Spec.Priority,
			g.Spec.PreemptionPolicy})
	}
	return nil
}

// groupPriority are the fields of a pod group or composite pod group that have its priority.
type groupPriority struct {
	what       string // the kind in messages
	class      *string
	value      **int32
	preemption *schedulingv1alpha3.PreemptionPolicy
}

func (p *priority) ofGroup(ctx context.Context, a *admission.Attributes, g groupPriority) error {
	computed, policy, err := p.of(ctx, a, g.class)
	if err != nil {
		return err
	}
	if *g.value != nil && **g.value != computed {
		return admission.Forbiddenf(a,
			"priority set in the %s (%d) must match the priority computed (%d) based on the priority "+
				"class set in the spec", g.what, **g.value, computed)
	}
	*g.value = &computed
	if g.preemption != nil && string(*g.preemption) != string(policy) {
		return admission.Forbiddenf(a,
			"the string value of PreemptionPolicy (%s) must not be provided in %s spec; priority "+
				"admission controller computed %s from the given PriorityClass name", *g.preemption, g.what, policy)
	}
	return nil
}

// of returns the values of the class, or of the default class, whose name it sets.
func (p *priority) of(ctx context.Context, a *admission.Attributes,
	name *string) (int32, corev1.PreemptionPolicy, error) {
	class, err := p.class(ctx, *name)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return 0, "", admission.Forbiddenf(a, "no PriorityClass with name %v was found", *name)
	}
	if err != nil {
		return 0, "", err
	}
	policy := corev1.PreemptLowerPriority
	if class == nil {
		return 0, policy, nil
	}
	*name = class.Name
	if class.PreemptionPolicy != nil {
		policy = *class.PreemptionPolicy
	}
	return class.Value, policy, nil
}

func (p *priority) class(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
	if name != "" {
		return group.PriorityClasses(p.stores).GetShared(ctx, "", name)
	}
	all, err := group.PriorityClasses(p.stores).ListShared(request.SkippingUnreadable(ctx), "")
	if err != nil {
		return nil, err
	}
	var found *schedulingv1.PriorityClass
	for _, c := range all {
		// If there are several defaults, the lowest value applies.
		if c.GlobalDefault && (found == nil || c.Value < found.Value) {
			found = c
		}
	}
	return found, nil
}

// Validate implements admission.ValidatingInterface. It rejects a second default class.
func (p *priority) Validate(ctx context.Context, a *admission.Attributes) error {
	c, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || a.Subresource != "" || !c.GlobalDefault {
		return nil
	}
	present, err := p.class(ctx, "")
	if err != nil {
		return err
	}
	if present != nil && (a.Operation == admission.Create || present.Name != c.Name) {
		return admission.Forbiddenf(a,
			"PriorityClass %v is already marked as default. Only one default can exist", present.Name)
	}
	return nil
}
