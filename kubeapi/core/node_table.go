package core

import (
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"triplane.dev/generic/api/show"
)

const unknown = "<unknown>"

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
		return show.None
	}
	list := roles.UnsortedList()
	sort.Strings(list)
	return strings.Join(list, ",")
}

func nodeAddress(t corev1.NodeAddressType) func(*corev1.Node) string {
	return func(n *corev1.Node) string {
		for _, a := range n.Status.Addresses {
			if a.Type == t {
				return a.Address
			}
		}
		return show.None
	}
}

func nodeKernel(n *corev1.Node) string {
	if v := n.Status.NodeInfo.KernelVersion; v != "" {
		if a := n.Status.NodeInfo.Architecture; a != "" {
			return v + " (" + a + ")"
		}
		return v
	}
	return unknown
}
