package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf(format, args...))
}

func core(plural string) schema.GroupResource { return schema.GroupResource{Resource: plural} }
