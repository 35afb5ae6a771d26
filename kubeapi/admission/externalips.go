package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
)

// denyExternalIPs rejects new external IPs of Services, because users who may write Services could redirect
// traffic of other users (CVE-2020-8554). Existing ones may remain or be removed.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: any.
type denyExternalIPs struct{ operations }

func newDenyExternalIPs(_ *Dependencies) admission.Interface {
	return denyExternalIPs{operations{admission.Create, admission.Update}}
}

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
			return admission.Forbiddenf(a, "Use of external IPs is denied by admission control")
		}
	}
	return nil
}
