package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/admission"
)

// operations is a set of operations. Plugins embed it.
type operations []admission.Operation

// Handles implements admission.Interface.
func (o operations) Handles(op admission.Operation) bool { return slices.Contains(o, op) }

// podOf returns the pod that is created or updated; nil for other objects and subresources.
func podOf(a *admission.Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

func core(plural string) schema.GroupResource { return schema.GroupResource{Resource: plural} }

// containersOf calls f for all containers in a pod's spec, in the order of the API, with their paths. Ephemeral
// containers are passed as Container.
func containersOf(s *corev1.PodSpec, f func(c *corev1.Container, path *field.Path)) {
	path := field.NewPath("spec")
	for i := range s.InitContainers {
		f(&s.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		f(&s.Containers[i], path.Child("containers").Index(i))
	}
	for i := range s.EphemeralContainers {
		f((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon),
			path.Child("ephemeralContainers").Index(i))
	}
}

// runsIn returns the pod whose containers or ephemeral containers an operation sets; nil for other operations.
func runsIn(a *admission.Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" &&
		a.Subresource != "ephemeralcontainers" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

// imagesOf returns the images of a pod's containers and volumes.
func imagesOf(s *corev1.PodSpec) sets.Set[string] {
	images := sets.New[string]()
	containersOf(s, func(c *corev1.Container, _ *field.Path) { images.Insert(c.Image) })
	for i := range s.Volumes {
		if v := s.Volumes[i].Image; v != nil {
			images.Insert(v.Reference)
		}
	}
	return images
}

// newImages reports whether an operation adds images to a pod.
func newImages(a *admission.Attributes, p *corev1.Pod) bool {
	old, ok := a.OldObject.(*corev1.Pod)
	return !ok || a.Operation != admission.Update || imagesOf(&p.Spec).Difference(imagesOf(&old.Spec)).Len() > 0
}
