package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

// nodeKind declares nodes.
// nodeKind declares nodes; a validates the ranges of their pods.
func nodeKind(a check.Addresses) kind.Kind[*corev1.Node] {
	type node = *corev1.Node
	return kind.Kind[node]{
		Prefix: "minions",
		Names:  kind.Names{ShortNames: []string{"no"}},
		Write: kind.Write[node]{
			AllowUnconditionalUpdate: kind.Always,
			Default: func(n node) {
				if len(n.Status.Allocatable) == 0 && len(n.Status.Capacity) > 0 {
					n.Status.Allocatable = n.Status.Capacity.DeepCopy()
				}
				podspec.RoundResources(n.Status.Capacity)
				podspec.RoundResources(n.Status.Allocatable)
				defaultPodCIDRs(&n.Spec)
			},
			Status:   kind.StatusOnCreate,
			Prepare:  dropKubeletConfig,
			Validate: kind.Whole(func(n node) field.ErrorList { return validateNode(n, a) }, validateNodeUpdate),
			Warnings: nodeWarnings,
		},
		Columns: append(show.Columns(
			show.Cell("Status", "The status of the node", nodeStatus),
			show.Cell("Roles", "The roles of the node", nodeRoles)),
			show.Field("Version", "status.nodeInfo.kubeletVersion"),
			show.Wide(show.Cell("Internal-IP", ".status.addresses", nodeAddress(corev1.NodeInternalIP))),
			show.Wide(show.Cell("External-IP", ".status.addresses", nodeAddress(corev1.NodeExternalIP))),
			show.Wide(show.FieldOr("OS-Image", "status.nodeInfo.osImage", unknown)),
			show.Wide(show.Cell("Kernel-Version", ".status.nodeInfo.kernelVersion", nodeKernel)),
			show.Wide(show.FieldOr("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", unknown))),
		// What can be allocated is the capacity unless the kubelet reports it.
		Representation: kind.Typed[node]{OnRead: kind.OnRead[node]{Fields: []string{"status.allocatable"}}},
		Select:         kind.Select[node]{Fields: kind.Fields[node]("spec.unschedulable")},
		Status: &kind.Subresource[node]{
			Prepare:  dropKubeletConfig,
			Validate: func(_ context.Context, n, old node) field.ErrorList { return validateNodeUpdate(n, old) },
		},
	}
}

// dropKubeletConfig removes the configuration of kubelets by objects, a feature
// that is gone, unless the node had it before.
func dropKubeletConfig(_ context.Context, n, old *corev1.Node) {
	if old == nil || old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
	if old == nil || old.Status.Config == nil {
		n.Status.Config = nil
	}
}

func nodeWarnings(_ context.Context, n, _ *corev1.Node) []string {
	var w []string
	if n.Spec.DoNotUseExternalID != "" {
		w = append(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, r := range n.Spec.PodCIDRs {
		w = append(w, utilvalidation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), r)...)
	}
	return w
}

// defaultPodCIDRs keeps the one range and the list of ranges in step.
func defaultPodCIDRs(s *corev1.NodeSpec) {
	switch {
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	}
}
