package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
)

// taintNodes taints new nodes NotReady:NoSchedule, so that no pods are scheduled to them until a controller finds
// them ready.
//
// Options: none. Metrics: none. Order: any.
type taintNodes struct{}

func newTaintNodes(_ *Dependencies) admission.Interface {
	return taintNodes{}
}

// Handles implements admission.Interface.
func (taintNodes) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface.
func (taintNodes) Admit(_ context.Context, a *admission.Attributes) error {
	n, ok := a.Object.(*corev1.Node)
	if !ok || a.Subresource != "" {
		return nil
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return nil
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady,
		Effect: corev1.TaintEffectNoSchedule})
	return nil
}
