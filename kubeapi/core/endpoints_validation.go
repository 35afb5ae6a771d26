package core

import (
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

func validateEndpoints(e *corev1.Endpoints, a check.Addresses) field.ErrorList {
	var errs field.ErrorList
	for i := range e.Subsets {
		ss, path := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(ss.Addresses) == 0 && len(ss.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		for j := range ss.Addresses {
			errs = append(errs, endpointAddress(&ss.Addresses[j], a, path.Child("addresses").Index(j))...)
		}
		for j := range ss.NotReadyAddresses {
			errs = append(errs, endpointAddress(&ss.NotReadyAddresses[j], a, path.Child("notReadyAddresses").Index(j))...)
		}
		for j := range ss.Ports {
			errs = append(errs, endpointPort(&ss.Ports[j], len(ss.Ports) > 1, path.Child("ports").Index(j))...)
		}
	}
	return errs
}

func endpointAddress(e *corev1.EndpointAddress, a check.Addresses, path *field.Path) field.ErrorList {
	errs := a.IP(e.IP, path.Child("ip"))
	if e.Hostname != "" {
		errs = append(errs, check.Label(e.Hostname, path.Child("hostname"))...)
	}
	if e.NodeName != nil {
		errs = append(errs, check.Subdomain(*e.NodeName, path.Child("nodeName"))...)
	}
	return append(errs, check.EndpointIP(e.IP, path.Child("ip"))...)
}

func endpointPort(p *corev1.EndpointPort, needsName bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if needsName && p.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else if p.Name != "" {
		errs = append(errs, check.Label(p.Name, path.Child("name"))...)
	}
	for _, msg := range utilvalidation.IsValidPortNum(int(p.Port)) {
		errs = append(errs, field.Invalid(path.Child("port"), p.Port, msg))
	}
	if p.Protocol == "" {
		errs = append(errs, field.Required(path.Child("protocol"), ""))
	} else {
		errs = append(errs, check.OneOf(p.Protocol, path.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP,
			corev1.ProtocolUDP)...)
	}
	if p.AppProtocol != nil {
		errs = append(errs, check.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}
