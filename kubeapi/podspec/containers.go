package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// VisitContainers walks through all containers in the order in which they start.
func VisitContainers(s *corev1.PodSpec, spec *field.Path, do func(c *corev1.Container, path *field.Path)) {
	for i := range s.InitContainers {
		do(&s.InitContainers[i], spec.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		do(&s.Containers[i], spec.Child("containers").Index(i))
	}
	for i := range s.EphemeralContainers {
		c := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		do(&c, spec.Child("ephemeralContainers").Index(i))
	}
}

// The names of the fields of affinities.
const RequiredTerms, PreferredTerms = "requiredDuringSchedulingIgnoredDuringExecution",
	"preferredDuringSchedulingIgnoredDuringExecution"
