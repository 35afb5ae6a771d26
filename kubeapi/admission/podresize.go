package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

// podResize rejects resizes that can never succeed: on a missing node, beyond the node's allocatable resources
// (with a cause of type NodeCapacity), or on an operating system that does not support them (UnsupportedPlatform).
//
// Options: none. Metrics: none. Order: any.
type podResize struct {
	operations
	stores *group.Stores
}

func newPodResize(d *Dependencies) admission.Interface {
	return &podResize{operations{admission.Update}, d.Stores}
}

// Validate implements admission.ValidatingInterface.
func (p *podResize) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Resource.GroupResource() != core("pods") || a.Subresource != "resize" {
		return nil
	}
	pod, ok := a.Object.(*corev1.Pod)
	old, had := a.OldObject.(*corev1.Pod)
	if !ok || !had || pod.Spec.NodeName == "" {
		return nil
	}
	if !check.Differs(pod.Spec, old.Spec) {
		return nil // not a resize
	}
	n, err := group.Nodes(p.stores).Get(ctx, "", pod.Spec.NodeName)
	if err != nil {
		return admission.Forbiddenf(a, "node %q not found", pod.Spec.NodeName)
	}
	if os := n.Labels[corev1.LabelOSStable]; os != "" && os != string(corev1.Linux) {
		return caused(admission.Forbidden(a, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q",
			n.Name, os)), "UnsupportedPlatform")
	}
	return exceeds(a, podspec.Requests(&pod.Spec), n.Status.Allocatable)
}

// exceeds rejects requests beyond the node's allocatable resources; those it does not report are zero. Errors show CPU
// in millicores and memory in bytes.
func exceeds(a *admission.Attributes, requests, allocatable corev1.ResourceList) error {
	var lacking []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		want, limit := requests[name], allocatable[name]
		if want.Cmp(limit) <= 0 {
			continue
		}
		requested, most := want.Value(), limit.Value()
		if name == corev1.ResourceCPU {
			requested, most = want.MilliValue(), limit.MilliValue()
		}
		lacking = append(lacking, fmt.Sprintf("%s, requested: %d, allocatable: %d", name, requested, most))
	}
	if len(lacking) == 0 {
		return nil
	}
	return caused(admission.Forbidden(a,
		errors.New("node didn't have enough allocatable resources: "+strings.Join(lacking, "; "))), "NodeCapacity")
}

// caused adds a machine-readable cause to an error.
func caused(err *apierrors.StatusError, cause metav1.CauseType) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return err
}
