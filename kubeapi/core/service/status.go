package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"triplane.dev/kubeapi/check"
)

func validateStatus(o options, s service) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("status", "loadBalancer", "ingress")
	ingress := s.Status.LoadBalancer.Ingress
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		return field.ErrorList{field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	for i := range ingress {
		in, p := &ingress[i], path.Index(i)
		if in.IP != "" {
			errs = append(errs, o.addresses.IP(in.IP, p.Child("ip"))...)
		}
		switch {
		case in.IP != "" && in.IPMode == nil:
			errs = append(errs, field.Required(p.Child("ipMode"), "must be specified when `ip` is set"))
		case in.IP == "" && in.IPMode != nil:
			errs = append(errs, field.Forbidden(p.Child("ipMode"), "may not be specified when `ip` is not set"))
		case in.IPMode != nil:
			errs = append(errs, check.OneOf(*in.IPMode, p.Child("ipMode"), corev1.LoadBalancerIPModeProxy,
				corev1.LoadBalancerIPModeVIP)...)
		}
		if in.Hostname != "" {
			errs = append(errs, check.Subdomain(in.Hostname, p.Child("hostname"))...)
			if netutils.ParseIPSloppy(in.Hostname) != nil {
				errs = append(errs, field.Invalid(p.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
			}
		}
	}
	return errs
}
