package pod

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/podspec"
)

// status is what kubelets and controllers write.
func status(o podspec.Options) *kind.Subresource[pod] {
	return &kind.Subresource[pod]{
		Preserves: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"},
		Prepare: func(_ context.Context, p, old pod) {
			p.Status.QOSClass = cmp.Or(p.Status.QOSClass, old.Status.QOSClass)
			keepObservedGenerations(&p.Status, &old.Status)
			keepClaims(&p.Status, &old.Status)
		},
		Validate: func(_ context.Context, p, old pod) field.ErrorList { return validateStatus(o.Addresses, p, old) },
		Warnings: func(_ context.Context, p, _ pod) []string { return addressWarnings(&p.Status) },
	}
}

// addressWarnings warns of addresses that are not in canonical form.
func addressWarnings(s *corev1.PodStatus) []string {
	var w []string
	path := field.NewPath("status")
	for i := range s.PodIPs {
		w = append(w, utilvalidation.GetWarningsForIP(path.Child("podIPs").Index(i).Child("ip"), s.PodIPs[i].IP)...)
	}
	for i := range s.HostIPs {
		w = append(w, utilvalidation.GetWarningsForIP(path.Child("hostIPs").Index(i).Child("ip"), s.HostIPs[i].IP)...)
	}
	return w
}

// firstIP keeps the one address and the list of addresses in step.
func firstIP(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

// keepObservedGenerations keeps what writers that do not know of observed
// generations leave out.
func keepObservedGenerations(s, old *corev1.PodStatus) {
	if s.ObservedGeneration == 0 {
		s.ObservedGeneration = old.ObservedGeneration
	}
	before := map[corev1.PodConditionType]int64{}
	for i := range old.Conditions {
		before[old.Conditions[i].Type] = old.Conditions[i].ObservedGeneration
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.ObservedGeneration == 0 {
			c.ObservedGeneration = before[c.Type]
		}
	}
}

// keepClaims keeps what writers that do not know of resource claims leave out. An empty list removes the claims.
func keepClaims(s, old *corev1.PodStatus) {
	if s.ResourceClaimStatuses == nil {
		s.ResourceClaimStatuses = old.ResourceClaimStatuses
	}
	if s.NodeAllocatableResourceClaimStatuses == nil {
		s.NodeAllocatableResourceClaimStatuses = old.NodeAllocatableResourceClaimStatuses
	}
	s.ExtendedResourceClaimStatus = cmp.Or(s.ExtendedResourceClaimStatus, old.ExtendedResourceClaimStatus)
}
