// Package podtemplate is what kinds that hold a pod template do with it:
// defaults, validation, warnings and the names that tables show. The rules of
// pods themselves are in kubeapi/core/podspec.
package podtemplate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Default completes a template.
func Default(t *corev1.PodTemplateSpec) {}

// Validate judges a template. old is what it was before, nil when it is new.
func Validate(ctx context.Context, t, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return nil
}

// Warnings tells what is unwise about a template.
func Warnings(ctx context.Context, t, old *corev1.PodTemplateSpec, path *field.Path) []string {
	return nil
}

// DefaultClaim completes a claim template.
func DefaultClaim(c *corev1.PersistentVolumeClaim) {}

// ValidateClaim judges a claim template.
func ValidateClaim(c *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList { return nil }

// ClaimWarnings tells what is unwise about a claim template.
func ClaimWarnings(c *corev1.PersistentVolumeClaim, path *field.Path) []string { return nil }

// ValidateTolerations judges tolerations.
func ValidateTolerations(ts []corev1.Toleration, path *field.Path) field.ErrorList { return nil }
