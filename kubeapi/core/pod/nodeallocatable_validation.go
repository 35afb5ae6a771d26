package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec"
)

// nodeAllocatable validates what the claims of a pod take from its node.
func nodeAllocatable(p pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := p.Status.NodeAllocatableResourceClaimStatuses
	if len(list) == 0 {
		return nil
	}
	claims := claimsOf(p)
	for i := range list {
		s, at := &list[i], path.Index(i)
		switch {
		case s.ResourceClaimName == "":
			continue // nodeAllocatableKeys reports it
		case !claims.Has(s.ResourceClaimName):
			errs = append(errs, field.Invalid(at.Child("resourceClaimName"), s.ResourceClaimName,
				"no mapping found in pod reference"))
		}
		for j := range s.Mapping {
			m, at := &s.Mapping[j], at.Child("mapping").Index(j)
			errs = append(errs, podspec.NodeAllocatable(m.Name, at.Child("name"))...)
			errs = append(errs, podspec.NonNegativeQuantity(m.Quantity, at.Child("quantity"))...)
		}
		for j := range s.Overhead {
			o, at := &s.Overhead[j], at.Child("overhead").Index(j)
			errs = append(errs, podspec.NodeAllocatable(o.Name, at.Child("name"))...)
			errs = append(errs, podspec.NodeOverhead(o.PerPod, o.PerContainer, at)...)
		}
	}
	return errs
}

// claimsOf are the names of the claims that a pod refers to or that were made for it.
func claimsOf(p pod) sets.Set[string] {
	names := sets.New[string]()
	for i := range p.Spec.ResourceClaims {
		if name := p.Spec.ResourceClaims[i].ResourceClaimName; name != nil {
			names.Insert(*name)
		}
	}
	for i := range p.Status.ResourceClaimStatuses {
		if name := p.Status.ResourceClaimStatuses[i].ResourceClaimName; name != nil {
			names.Insert(*name)
		}
	}
	if s := p.Status.ExtendedResourceClaimStatus; s != nil {
		names.Insert(s.ResourceClaimName)
	}
	return names
}

// nodeAllocatableKeys validates what kube-apiserver declares in markers: required names, and the keys of lists.
func nodeAllocatableKeys(list []corev1.NodeAllocatableResourceClaimStatus, path *field.Path) field.ErrorList {
	claim := func(s *corev1.NodeAllocatableResourceClaimStatus) string { return s.ResourceClaimName }
	errs := duplicateKeys(list, claim, path)
	for i := range list {
		s, at := &list[i], path.Index(i)
		errs = append(errs, required(s.ResourceClaimName, at.Child("resourceClaimName"))...)
		errs = append(errs, duplicateKeys(s.Containers, func(name *string) string { return *name },
			at.Child("containers"))...)
		mapping := at.Child("mapping")
		errs = append(errs, duplicateKeys(s.Mapping,
			func(m *corev1.NodeAllocatableMappedResources) string { return string(m.Name) }, mapping)...)
		for j := range s.Mapping {
			errs = append(errs, required(string(s.Mapping[j].Name), mapping.Index(j).Child("name"))...)
			if s.Mapping[j].Quantity == nil {
				errs = append(errs, field.Required(mapping.Index(j).Child("quantity"), ""))
			}
		}
		overhead := at.Child("overhead")
		errs = append(errs, duplicateKeys(s.Overhead,
			func(o *corev1.NodeAllocatableOverheadResources) string { return string(o.Name) }, overhead)...)
		for j := range s.Overhead {
			errs = append(errs, required(string(s.Overhead[j].Name), overhead.Index(j).Child("name"))...)
		}
	}
	return errs
}

func required(value string, path *field.Path) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{field.Required(path, "")}
}

// duplicateKeys reports items whose key an earlier one has.
func duplicateKeys[T any](list []T, key func(*T) string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range list {
		if k := key(&list[i]); seen.Has(k) {
			errs = append(errs, field.Duplicate(path.Index(i), list[i]))
		} else {
			seen.Insert(k)
		}
	}
	return errs
}
