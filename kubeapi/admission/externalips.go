package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"triplane/generic/admission"
)

// denyExternalIPs refuses new external IPs of Services: whoever may write a
// Service could draw other people's traffic to it. Those that are there may stay
// or go. It is off unless switched on.
type denyExternalIPs struct{ operations }

// Validate implements admission.ValidatingInterface.
func (denyExternalIPs) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Group != "" || a.Resource.Resource != "services" || a.Subresource != "" {
		return nil
	}
	s, _ := a.Object.(*corev1.Service)
	if s == nil {
		return nil
	}
	old, _ := a.OldObject.(*corev1.Service)
	for _, ip := range s.Spec.ExternalIPs {
		if old == nil || !slices.Contains(old.Spec.ExternalIPs, ip) {
			return forbidden(a, "Use of external IPs is denied by admission control")
		}
	}
	return nil
}
