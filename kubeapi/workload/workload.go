package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/strategy"
)

// PrepareForCreate drops fields of the template that belong to features that are
// off, and begins the generation of a new object. Its status is the caller's.
func PrepareForCreate(obj metav1.Object, t *corev1.PodTemplateSpec) {
	podspec.DropDisabled(&t.Spec, nil)
	obj.SetGeneration(1)
}

// PrepareForUpdate is PrepareForCreate for an update: the generation is raised
// where spec differs from oldSpec. t and oldTemplate are the templates in them.
func PrepareForUpdate[S any](obj, old metav1.Object, t, oldTemplate *corev1.PodTemplateSpec, spec, oldSpec *S) {
	podspec.DropDisabled(&t.Spec, &oldTemplate.Spec)
	strategy.Generation(obj, old, check.Differs(spec, oldSpec))
}
