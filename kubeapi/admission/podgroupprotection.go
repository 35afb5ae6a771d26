package admission

import (
	"context"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"

	"triplane.dev/generic/guard/admission"
)

// gateWorkloads is the feature gate of workloads and pod groups.
const gateWorkloads = "GenericWorkload"

// podGroupProtection adds the finalizer that delays the deletion of a pod group while it has pods; a controller
// removes it.
//
// Options: the gate GenericWorkload, off by default. Metrics: none. Order: any.
type podGroupProtection struct{ operations }

func newPodGroupProtection(d *Dependencies) admission.Interface {
	if !d.enabled(gateWorkloads) {
		return podGroupProtection{}
	}
	return podGroupProtection{operations{admission.Create}}
}

// Admit implements admission.MutatingInterface.
func (podGroupProtection) Admit(_ context.Context, a *admission.Attributes) error {
	if g, ok := a.Object.(*schedulingv1alpha3.PodGroup); ok && a.Subresource == "" {
		addFinalizer(&g.ObjectMeta, "scheduling.k8s.io/podgroup-protection")
	}
	return nil
}
