package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/admission"
)

// operations is a set of operations to be embedded in plugins.
type operations []admission.Operation

// Handles implements admission.Interface.
func (o operations) Handles(op admission.Operation) bool { return slices.Contains(o, op) }

// podOf returns the pod that is created or updated, nil if the operation is about
// something else, or a subresource.
func podOf(a *admission.Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

// forbidden refuses an operation.
func forbidden(a *admission.Attributes, format string, args ...any) error {
	return admission.Forbidden(a, fmt.Errorf(format, args...))
}

func core(plural string) schema.GroupResource { return schema.GroupResource{Resource: plural} }

// containersOf calls f for all containers of a pod's spec, in the order in which the API lists
// them; ephemeral ones are shown as others.
func containersOf(s *corev1.PodSpec, f func(c *corev1.Container, path *field.Path)) {
	path := field.NewPath("spec")
	for i := range s.InitContainers {
		f(&s.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		f(&s.Containers[i], path.Child("containers").Index(i))
	}
	for i := range s.EphemeralContainers {
		f((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon), path.Child("ephemeralContainers").Index(i))
	}
}

// runsIn returns the pod whose containers an operation sets: those of the pod itself or
// its ephemeral ones; nil if the operation is about something else.
func runsIn(a *admission.Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" && a.Subresource != "ephemeralcontainers" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

// imagesOf are the images that a pod's containers and volumes use.
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

// newImages reports whether an operation brings images that the pod did not have.
func newImages(a *admission.Attributes, p *corev1.Pod) bool {
	old, ok := a.OldObject.(*corev1.Pod)
	return !ok || a.Operation != admission.Update || imagesOf(&p.Spec).Difference(imagesOf(&old.Spec)).Len() > 0
}

// mergedTolerations are the tolerations of both lists, without those that another one covers; a
// list to which none are added stays as it is.
func mergedTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	if len(second) == 0 {
		return first
	}
	all := append(slices.Clone(first), second...)
	var out []corev1.Toleration
	for i := range all {
		redundant := false
		for j := range all {
			if i == j || !covers(&all[j], &all[i]) {
				continue
			}
			// Of two that are equal the first one stays.
			redundant = redundant || j < i || !covers(&all[i], &all[j])
		}
		if !redundant {
			out = append(out, all[i])
		}
	}
	return out
}

// covers reports whether one toleration tolerates all that another one does.
func covers(by, t *corev1.Toleration) bool {
	if equality.Semantic.DeepEqual(by, t) {
		return true
	}
	switch {
	case by.Key != t.Key && (by.Key != "" || by.Operator != corev1.TolerationOpExists):
		return false
	case by.Effect != t.Effect && by.Effect != "":
		return false
	case by.TolerationSeconds != nil && (t.TolerationSeconds == nil || *t.TolerationSeconds > *by.TolerationSeconds):
		return false
	}
	if by.Operator == corev1.TolerationOpExists {
		return true
	}
	return t.Operator != corev1.TolerationOpExists && by.Value == t.Value
}
