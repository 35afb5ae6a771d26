package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
)

func validateNode(n *corev1.Node) field.ErrorList {
	errs := podspec.Taints(n.Spec.Taints, field.NewPath("spec", "taints"))
	return append(errs, nodeAmounts(n)...)
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
