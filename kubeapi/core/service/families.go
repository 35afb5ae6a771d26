package service

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// settleFamilies decides the IP families of a service and whether it has one or
// two, from what the client said and what the cluster has. old is nil for a new
// service.
func (a *Allocation) settleFamilies(s, old service) error {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	// IPs and families that contradict each other are refused alone, before
	// anything is decided from them.
	if errs := validateClusterIPs(a.options, s, field.NewPath("spec")); len(errs) > 0 {
		return invalid(s, errs...)
	}
	spec := &s.Spec
	anyFamilies := headless(s) && len(spec.Selector) == 0
	if old == nil && spec.IPFamilyPolicy == nil && len(spec.ClusterIPs) > 1 {
		return a.refuseSecondIP(s)
	}
	sent := len(spec.IPFamilies)
	if err := a.familiesFromIPs(s); err != nil {
		return err
	}
	if old != nil && spec.IPFamilyPolicy == nil && (len(spec.ClusterIPs) == 2 || len(spec.IPFamilies) == 2 &&
		len(a.families) == 2) {
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
	if old != nil && old.Spec.Type != corev1.ServiceTypeExternalName {
		if err := keepPolicy(s, old, sent); err != nil {
			return err
		}
	}
	if spec.IPFamilyPolicy == nil && len(spec.IPFamilies) == 2 && !anyFamilies {
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
	}
	if errs := validateClusterIPs(a.options, s, field.NewPath("spec")); len(errs) > 0 {
		return invalid(s, errs...)
	}
	if anyFamilies {
		// Nobody but its owner fills its endpoints, in whatever families.
		if spec.IPFamilyPolicy == nil {
			spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		}
		a.complete(s, []corev1.IPFamily{a.families[0], other(a.families[0])})
		return nil
	}
	if err := a.configured(s); err != nil {
		return err
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
	}
	a.complete(s, a.families)
	return nil
}

// keepPolicy leaves the policy as it was where the client says nothing of it; sent is how
// many families it named. Only a single stack may name one of two.
func keepPolicy(s, old service, sent int) error {
	spec := &s.Spec
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = old.Spec.IPFamilyPolicy
	}
	if p := ptr.Deref(spec.IPFamilyPolicy, ""); sent == 1 && len(old.Spec.IPFamilies) == 2 &&
		p != corev1.IPFamilyPolicySingleStack {
		return invalid(s, field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), p,
			"must be 'SingleStack' to release the secondary IP family"))
	}
	return nil
}

// refuseSecondIP is the error of a new Service with two IPs that does not say that it wants
// two stacks.
func (a *Allocation) refuseSecondIP(s service) error {
	path := field.NewPath("spec")
	errs := field.ErrorList{field.Invalid(path.Child("ipFamilyPolicy"), corev1.IPFamilyPolicySingleStack,
		"must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified")}
	for i, ip := range s.Spec.ClusterIPs {
		if f := familyOf(ip); f != "" && !slices.Contains(a.families, f) {
			errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(i), s.Spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", f)))
		}
	}
	return invalid(s, errs...)
}

// familiesFromIPs adds the families of the IPs that the client chose.
func (a *Allocation) familiesFromIPs(s service) error {
	for i, ip := range s.Spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			return nil
		}
		f := familyOf(ip)
		if f == "" {
			return nil
		}
		if i < len(s.Spec.IPFamilies) {
			continue
		}
		if !slices.Contains(a.families, f) && s.Spec.ClusterIP != "" && i == 0 {
			return invalid(s, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), s.Spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", f)))
		}
		if i == len(s.Spec.IPFamilies) && !slices.Contains(s.Spec.IPFamilies, f) {
			s.Spec.IPFamilies = append(s.Spec.IPFamilies, f)
		}
	}
	return nil
}

// configured refuses families that the cluster does not have.
func (a *Allocation) configured(s service) error {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if p := s.Spec.IPFamilyPolicy; p != nil && *p == corev1.IPFamilyPolicyRequireDualStack && len(a.families) < 2 {
		errs = append(errs, field.Invalid(spec.Child("ipFamilyPolicy"), *p,
			"this cluster is not configured for dual-stack services"))
	}
	for i, f := range s.Spec.IPFamilies {
		if !slices.Contains(a.families, f) {
			errs = append(errs, field.Invalid(spec.Child("ipFamilies").Index(i), f, "not configured on this cluster"))
		}
	}
	if len(errs) > 0 {
		return invalid(s, errs...)
	}
	return nil
}

// complete adds the families that the policy asks for.
func (a *Allocation) complete(s service, from []corev1.IPFamily) {
	spec := &s.Spec
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{from[0]}
	}
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack || len(spec.IPFamilies) == 2 {
		return
	}
	if second := other(spec.IPFamilies[0]); slices.Contains(from, second) {
		spec.IPFamilies = append(spec.IPFamilies, second)
	}
}

func other(f corev1.IPFamily) corev1.IPFamily {
	if f == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}
