package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NodeAllocatable validates the name of a resource that devices can take from their node: cpu, memory or huge pages.
func NodeAllocatable(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be a node allocatable resource name")}
}

// NodeOverhead validates the overhead of a device for each pod and container, of which at least one is there.
func NodeOverhead(perPod, perContainer *resource.Quantity, path *field.Path) field.ErrorList {
	if perPod == nil && perContainer == nil {
		return field.ErrorList{field.Invalid(path, "", "at least one of perPod or perContainer must be set")}
	}
	return append(NonNegativeQuantity(perPod, path.Child("perPod")),
		NonNegativeQuantity(perContainer, path.Child("perContainer"))...)
}

// NonNegativeQuantity validates a quantity that may be nil.
func NonNegativeQuantity(q *resource.Quantity, path *field.Path) field.ErrorList {
	if q == nil || q.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.String(), "must be non-negative")}
}
