package workload

import (
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/kubeapi/podspec"
)

// DefaultClaim completes a claim template.
func DefaultClaim(c *corev1.PersistentVolumeClaim) {
	c.APIVersion, c.Kind = "v1", "PersistentVolumeClaim"
	podspec.DefaultClaimSpec(&c.Spec)
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
}
