package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

// validateFixed refuses changes of what is decided once.
func validateFixed(s, old service) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if needsClusterIP(s) && needsClusterIP(old) {
		errs = append(errs, validateFixedIPs(s, old, spec.Child("clusterIPs"))...)
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		check.Differs(s.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(spec.Child("loadBalancerClass"), s.Spec.LoadBalancerClass,
			"may not change once set"))
	}
	// An invalid class is refused as a change, too: the error appears twice.
	errs = append(errs, validateLoadBalancerClass(s, spec.Child("loadBalancerClass"))...)
	if needsHealthPort(s) && needsHealthPort(old) && old.Spec.HealthCheckNodePort != s.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(spec.Child("healthCheckNodePort"), check.ImmutableMsg))
	}
	return errs
}

func validateFixedIPs(s, old service, path *field.Path) field.ErrorList {
	for i, ip := range old.Spec.ClusterIPs {
		if i >= len(s.Spec.ClusterIPs) {
			// A second one may go when the service becomes single-stack.
			if i == 0 {
				return field.ErrorList{field.Invalid(path.Index(0), s.Spec.ClusterIPs, "primary clusterIP can not be unset")}
			}
			if p := s.Spec.IPFamilyPolicy; p != nil && *p == corev1.IPFamilyPolicySingleStack {
				continue
			}
			return field.ErrorList{field.Invalid(path.Index(i), s.Spec.ClusterIPs, "secondary clusterIP can not be unset")}
		}
		if s.Spec.ClusterIPs[i] != ip {
			return field.ErrorList{field.Invalid(path.Index(i), s.Spec.ClusterIPs, "may not change once set")}
		}
	}
	return nil
}
