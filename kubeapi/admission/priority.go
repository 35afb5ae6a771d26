package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/base/request"
	"triplane/generic/guard/admission"
	"triplane/kubeapi/group"
)

// priority sets the priority and preemption policy of a pod from its priority class, and rejects a second default
// class.
//
// Options: none. Metrics: none. Order: before ResourceQuota, whose scopes select by priority class.
type priority struct{ stores *group.Stores }

func newPriority(d *Dependencies) admission.Interface {
	return &priority{stores: d.Stores}
}

var priorityClasses = schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}

// Handles implements admission.Interface.
func (*priority) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutatingInterface.
func (p *priority) Admit(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
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
	value, policy, err := p.of(ctx, a, pod)
	if err != nil {
		return err
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != value {
		return forbidden(a,
			"the integer value of priority (%d) must not be provided in pod spec; priority admission controller "+
				"computed %d from the given PriorityClass name", *pod.Spec.Priority, value)
	}
	pod.Spec.Priority = &value
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return forbidden(a,
			"the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission "+
				"controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// of returns the values of the pod's class, or of the default class.
func (p *priority) of(
	ctx context.Context, a *admission.Attributes, pod *corev1.Pod,
) (int32, corev1.PreemptionPolicy, error) {
	class, err := p.class(ctx, pod.Spec.PriorityClassName)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return 0, "", forbidden(a, "no PriorityClass with name %v was found", pod.Spec.PriorityClassName)
	}
	if err != nil {
		return 0, "", err
	}
	policy := corev1.PreemptLowerPriority
	if class == nil {
		return 0, policy, nil
	}
	pod.Spec.PriorityClassName = class.Name
	if class.PreemptionPolicy != nil {
		policy = *class.PreemptionPolicy
	}
	return class.Value, policy, nil
}

func (p *priority) class(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
	if name != "" {
		return group.GetShared[*schedulingv1.PriorityClass](ctx, p.stores, priorityClasses, "", name)
	}
	all, err := group.ListShared[*schedulingv1.PriorityClass](request.SkippingUnreadable(ctx), p.stores,
		priorityClasses, "", &metainternalversion.ListOptions{ResourceVersion: group.Cached})
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
		return forbidden(a, "PriorityClass %v is already marked as default. Only one default can exist", present.Name)
	}
	return nil
}
