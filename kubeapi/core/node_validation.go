package core

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
)

// validateNode validates a new node, and what an update makes of one.
func validateNode(n *corev1.Node, a check.Addresses) field.ErrorList {
	errs := avoidedPods(n.Annotations, field.NewPath("metadata", "annotations"))
	errs = append(errs, nodeTaints(n)...)
	errs = append(errs, nodeAmounts(n)...)
	errs = append(errs, declaredFeatures(n.Status.DeclaredFeatures, field.NewPath("status", "declaredFeatures"))...)
	return append(errs, podCIDRs(n.Spec.PodCIDRs, a, field.NewPath("spec", "podCIDRs"))...)
}

// validateNodeUpdate validates a change of a node or of its status.
func validateNodeUpdate(n, old *corev1.Node) field.ErrorList {
	errs := avoidedPods(n.Annotations, field.NewPath("metadata", "annotations"))
	errs = append(errs, nodeTaints(n)...)
	errs = append(errs, nodeAmounts(n)...)
	status := field.NewPath("status")
	errs = append(errs, addressesUnique(n.Status.Addresses, status.Child("addresses"))...)
	errs = append(errs, declaredFeatures(n.Status.DeclaredFeatures, status.Child("declaredFeatures"))...)
	return append(errs, nodeKept(n, old)...)
}

// nodeTaints validates taints where clients of kube-apiserver have always found
// their errors.
func nodeTaints(n *corev1.Node) field.ErrorList {
	return podvalidation.Taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
}

// nodeAmounts validates what there is of resources; their names are the
// kubelet's.
func nodeAmounts(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	for _, l := range []struct {
		name string
		list corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range sortedNames(l.list) {
			q := l.list[name]
			errs = append(errs, podspec.Quantity(string(name), &q, field.NewPath("status", l.name, string(name)))...)
		}
	}
	return errs
}

// podCIDRs wants ranges, of each IP family one at most.
func podCIDRs(ranges []string, a check.Addresses, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range ranges {
		errs = append(errs, a.CIDR(r, path.Index(i))...)
	}
	if len(ranges) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackCIDRStrings(ranges)
	if err != nil {
		errs = append(errs, field.InternalError(path,
			fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	if !dual || len(ranges) > 2 {
		errs = append(errs, field.Invalid(path, ranges, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

func addressesUnique(list []corev1.NodeAddress, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[corev1.NodeAddress]()
	for i, a := range list {
		if seen.Has(a) {
			errs = append(errs, field.Duplicate(path.Index(i), a))
		}
		seen.Insert(a)
	}
	return errs
}

var featureName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(/[A-Za-z][A-Za-z0-9]*)*$`)

const maxFeatureName = 253

// declaredFeatures validates the names of what a kubelet can do, in their order (KEP-5328).
func declaredFeatures(names []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if i > 0 && name < names[i-1] {
			errs = append(errs, field.Invalid(path.Index(i), name, "list must be sorted alphabetically"))
		}
		if i > 0 && name == names[i-1] {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
		var msg string
		switch {
		case len(name) > maxFeatureName:
			msg = fmt.Sprintf("must be no more than %d characters", maxFeatureName)
		case !featureName.MatchString(name):
			msg = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), " +
				"and contain only alphanumeric characters and slashes"
		default:
			continue
		}
		errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("invalid feature name %q: %s", name, msg)))
	}
	return errs
}

// nodeKept refuses changes of what is decided once: ranges and the provider's id.
func nodeKept(n, old *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(old.Spec.PodCIDRs) > 0 && check.Differs(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(spec.Child("podCIDRs"),
			"node updates may not change podCIDR except from \"\" to valid"))
	}
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		change := "modified"
		if n.Spec.ProviderID == "" {
			change = "cleared"
		}
		errs = append(errs, field.Invalid(spec.Child("providerID"), nil, "field cannot be "+change+" once set"))
	}
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(spec.Child("externalID"), "may not be updated"))
	}
	return errs
}
