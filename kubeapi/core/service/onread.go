package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
)

// onRead completes services that were stored before clusterIPs, ipFamilies and
// ipFamilyPolicy existed, as the documentation of dual-stack services has it.
func (a *Allocation) onRead() kind.OnRead[service] {
	return kind.OnRead[service]{Complete: a.completeStored, Fields: []string{"spec.clusterIPs", "spec.ipFamilies",
		"spec.ipFamilyPolicy"}}
}

func (a *Allocation) completeStored(s service) {
	a.fillFamilies(s)
	forgetInternalTraffic(s)
}

func (a *Allocation) fillFamilies(s service) {
	spec := &s.Spec
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if len(spec.IPFamilies) > 0 || !needsClusterIP(s) || spec.ClusterIP == "" {
		return
	}
	switch {
	case spec.ClusterIP != corev1.ClusterIPNone:
		for _, ip := range spec.ClusterIPs {
			if f := familyOf(ip); f != "" {
				spec.IPFamilies = append(spec.IPFamilies, f)
			}
		}
	case len(spec.Selector) == 0:
		spec.IPFamilies = []corev1.IPFamily{a.families[0], other(a.families[0])}
		if spec.IPFamilyPolicy == nil {
			spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		}
	default:
		spec.IPFamilies = []corev1.IPFamily{a.families[0]}
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
		if len(spec.IPFamilies) > 1 {
			spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		}
	}
}
