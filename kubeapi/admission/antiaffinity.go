package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
)

// antiAffinity rejects pods with required anti-affinity on another topology than kubernetes.io/hostname: they
// would exclude other pods from more than their node.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: any.
type antiAffinity struct{ operations }

func newAntiAffinity(_ *Dependencies) admission.Interface {
	return antiAffinity{operations{admission.Create, admission.Update}}
}

// Validate implements admission.ValidatingInterface.
func (antiAffinity) Validate(_ context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil || p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey != corev1.LabelHostname {
			return admission.Forbiddenf(a,
				"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed",
				term.TopologyKey, corev1.LabelHostname)
		}
	}
	return nil
}
