// Package podtemplate is what kinds that hold a pod template or a claim template
// do with it: defaults, validation, warnings. The rules themselves are those of
// pods, in kubeapi/core/podspec.
package podtemplate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/core/podspec"
)

// Default completes a template.
func Default(t *corev1.PodTemplateSpec) { podspec.DefaultTemplate(t) }

// DropDisabled forgets fields of a template that belong to what is off.
func DropDisabled(t *corev1.PodTemplateSpec) { podspec.DropDisabled(&t.Spec) }

// Validate judges a template. old is what it was before, nil when it is new.
func Validate(ctx context.Context, t, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return podspec.ValidateTemplate(ctx, t, old, path)
}

// Warnings tells what is unwise about a template.
func Warnings(ctx context.Context, t, old *corev1.PodTemplateSpec, path *field.Path) []string {
	return podspec.TemplateWarnings(ctx, t, old, path)
}

// DefaultClaim completes a claim template.
func DefaultClaim(c *corev1.PersistentVolumeClaim) {
	c.APIVersion, c.Kind = "v1", "PersistentVolumeClaim"
	podspec.DefaultClaimSpec(&c.Spec)
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
}

// ValidateClaim judges a claim template.
func ValidateClaim(c *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	return podspec.ValidateClaimSpec(&c.Spec, path.Child("spec"))
}

// ClaimWarnings tells what is unwise about a claim template.
func ClaimWarnings(c *corev1.PersistentVolumeClaim, path *field.Path) []string {
	return podspec.ClaimSpecWarnings(&c.Spec, path)
}

// ValidateTolerations judges tolerations.
func ValidateTolerations(ts []corev1.Toleration, path *field.Path) field.ErrorList {
	return podspec.Tolerations(ts, path)
}
