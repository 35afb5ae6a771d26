package core

import (
	"context"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

// nodeKind declares nodes.
func nodeKind() registry.Kind[*corev1.Node] {
	type node = *corev1.Node
	return registry.Kind[node]{
		Hub: kind("Node"), Plural: "nodes", Singular: "node", ShortNames: []string{"no"}, Prefix: "minions",
		New:                      func() node { return &corev1.Node{} },
		NewList:                  func() runtime.Object { return &corev1.NodeList{} },
		AllowUnconditionalUpdate: true,
		Default: func(n node) {
			if n.Status.Allocatable == nil && len(n.Status.Capacity) > 0 {
				n.Status.Allocatable = n.Status.Capacity.DeepCopy()
			}
			podspec.RoundResources(n.Status.Capacity)
			podspec.RoundResources(n.Status.Allocatable)
			defaultPodCIDRs(&n.Spec)
		},
		PrepareForCreate: func(_ context.Context, n node) { n.Spec.ConfigSource = nil },
		PrepareForUpdate: func(_ context.Context, n, old node) { n.Status = old.Status },
		Validate:         func(_ context.Context, n node) field.ErrorList { return validateNode(n) },
		ValidateUpdate: func(_ context.Context, n, old node) field.ErrorList {
			return append(podspec.Taints(n.Spec.Taints, field.NewPath("spec", "taints")), nodeKept(n, old)...)
		},
		ResetFields: strategy.Reset(v1, "status"),
		Status: &registry.StatusSubresource[node]{
			PrepareForUpdate: func(_ context.Context, n, old node) { n.Spec = old.Spec },
			ValidateUpdate: func(_ context.Context, n, old node) field.ErrorList {
				return append(nodeAmounts(n), nodeKept(n, old)...)
			},
			ResetFields: strategy.Reset(v1, "spec"),
		},
		Columns: []registry.Column{
			show.Name(), show.Text("Status", "The status of the node"), show.Text("Roles", "The roles of the node"), show.Age(),
			show.Text("Version", show.Doc(corev1.NodeSystemInfo{}, "kubeletVersion")),
			show.Wide(show.Text("Internal-IP", show.Doc(corev1.NodeStatus{}, "addresses"))),
			show.Wide(show.Text("External-IP", show.Doc(corev1.NodeStatus{}, "addresses"))),
			show.Wide(show.Text("OS-Image", show.Doc(corev1.NodeSystemInfo{}, "osImage"))),
			show.Wide(show.Text("Kernel-Version", show.Doc(corev1.NodeSystemInfo{}, "kernelVersion"))),
			show.Wide(show.Text("Container-Runtime", show.Doc(corev1.NodeSystemInfo{}, "containerRuntimeVersion"))),
		},
		Cells: nodeCells,
		Fields: []registry.SelectableField[node]{
			{Path: "spec.unschedulable", Get: func(n node) string { return fmt.Sprint(n.Spec.Unschedulable) }},
		},
	}
}

// defaultPodCIDRs keeps the one range and the list of ranges in step.
func defaultPodCIDRs(s *corev1.NodeSpec) {
	switch {
	case s.PodCIDR != "" && len(s.PodCIDRs) == 0:
		s.PodCIDRs = []string{s.PodCIDR}
	case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	}
}

func nodeAmounts(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	for _, l := range []struct {
		name string
		list corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range sortedNames(l.list) {
			p, q := field.NewPath("status", l.name).Key(string(name)), l.list[name]
			errs = append(errs, podspec.ResourceName(string(name), p)...)
			errs = append(errs, podspec.Quantity(string(name), &q, p)...)
		}
	}
	return errs
}

func validateNode(n *corev1.Node) field.ErrorList {
	errs := podspec.Taints(n.Spec.Taints, field.NewPath("spec", "taints"))
	return append(errs, nodeAmounts(n)...)
}

// nodeKept refuses changes of what is decided once: ranges and the provider's id.
func nodeKept(n, old *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	if len(old.Spec.PodCIDRs) > 0 && check.Differs(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "providerID"), "node updates may not change providerID except from \"\" to valid"))
	}
	return errs
}

func nodeCells(n *corev1.Node) []any {
	return []any{
		n.Name, nodeStatus(n), nodeRoles(n), show.Since(n.CreationTimestamp), n.Status.NodeInfo.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP), orUnknown(n.Status.NodeInfo.OSImage),
		nodeKernel(n), orUnknown(n.Status.NodeInfo.ContainerRuntimeVersion),
	}
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(n *corev1.Node) string {
	roles := sets.New[string]()
	for k, v := range n.Labels {
		if role, ok := strings.CutPrefix(k, "node-role.kubernetes.io/"); ok && role != "" {
			roles.Insert(role)
		} else if k == "kubernetes.io/role" && v != "" {
			roles.Insert(v)
		}
	}
	if roles.Len() == 0 {
		return "<none>"
	}
	list := roles.UnsortedList()
	sort.Strings(list)
	return strings.Join(list, ",")
}

func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for i := range n.Status.Addresses {
		if n.Status.Addresses[i].Type == t {
			return n.Status.Addresses[i].Address
		}
	}
	return "<none>"
}

func nodeKernel(n *corev1.Node) string {
	if v := n.Status.NodeInfo.KernelVersion; v != "" {
		if a := n.Status.NodeInfo.Architecture; a != "" {
			return v + " (" + a + ")"
		}
		return v
	}
	return "<unknown>"
}

func orUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}
