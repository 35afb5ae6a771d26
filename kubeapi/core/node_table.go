package core

import (
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func nodeCells(n *corev1.Node, _ func(metav1.Time) string) []any {
	return []any{
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
