package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/podspec"
)

// DefaultClaim completes a claim template.
func DefaultClaim(c *corev1.PersistentVolumeClaim) {
	c.APIVersion, c.Kind = "v1", "PersistentVolumeClaim"
	podspec.DefaultClaimSpec(&c.Spec)
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
}

// ValidateClaim returns what is wrong with a claim template.
func ValidateClaim(c *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	return podspec.ValidateClaimSpec(&c.Spec, path.Child("spec"))
}

// ClaimWarnings returns warnings about a claim template.
func ClaimWarnings(c *corev1.PersistentVolumeClaim, path *field.Path) []string {
	return podspec.ClaimSpecWarnings(&c.Spec, path)
}
