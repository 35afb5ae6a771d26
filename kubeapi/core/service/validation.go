package service

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

func validate(o options, s service) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Spec.Ports) == 0 && !headless(s) && s.Spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(spec.Child("ports"), ""))
	}
	errs = append(errs, validateType(s, spec)...)
	errs = append(errs, validatePorts(s, spec.Child("ports"))...)
	errs = append(errs, metav1validation.ValidateLabels(s.Spec.Selector, spec.Child("selector"))...)
	errs = append(errs, check.OneOf(s.Spec.SessionAffinity, spec.Child("sessionAffinity"), corev1.ServiceAffinityClientIP,
		corev1.ServiceAffinityNone)...)
	errs = append(errs, validateAffinity(s, spec.Child("sessionAffinityConfig"))...)
	errs = append(errs, validateClusterIPs(o, s, spec)...)
	for i, ip := range s.Spec.ExternalIPs {
		p := spec.Child("externalIPs").Index(i)
		if e := o.addresses.IP(ip, p); len(e) > 0 {
			errs = append(errs, e...)
		} else {
			errs = append(errs, check.EndpointIP(ip, p)...)
		}
	}
	errs = append(errs, check.OneOf(s.Spec.Type, spec.Child("type"), corev1.ServiceTypeClusterIP,
		corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	errs = append(errs, validatePortsTogether(s, spec.Child("ports"))...)
	errs = append(errs, validateLoadBalancer(o, s, spec)...)
	errs = append(errs, validateTrafficPolicies(s, spec)...)
	if t := s.Spec.TrafficDistribution; t != nil {
		known := []string{corev1.ServiceTrafficDistributionPreferClose}
		if !o.preferCloseOnly {
			known = append(known, corev1.ServiceTrafficDistributionPreferSameZone,
				corev1.ServiceTrafficDistributionPreferSameNode)
		}
		errs = append(errs, check.OneOf(*t, spec.Child("trafficDistribution"), known...)...)
	}
	return errs
}

func validateType(s service, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(s) {
			errs = append(errs, field.Invalid(spec.Child("clusterIPs").Index(0), s.Spec.ClusterIPs[0],
				fmt.Sprintf("may not be set to 'None' for %s services", s.Spec.Type)))
		}
	case corev1.ServiceTypeExternalName:
		const msg = "may not be set for ExternalName services"
		if len(s.Spec.ClusterIPs) > 0 {
			errs = append(errs, field.Forbidden(spec.Child("clusterIPs"), msg))
		}
		if len(s.Spec.IPFamilies) > 0 {
			errs = append(errs, field.Forbidden(spec.Child("ipFamilies"), msg))
		}
		if s.Spec.IPFamilyPolicy != nil {
			errs = append(errs, field.Forbidden(spec.Child("ipFamilyPolicy"), msg))
		}
		// A trailing dot makes the name absolute.
		if name := strings.TrimSuffix(s.Spec.ExternalName, "."); name == "" {
			errs = append(errs, field.Required(spec.Child("externalName"), ""))
		} else {
			errs = append(errs, check.Subdomain(name, spec.Child("externalName"))...)
		}
	}
	return errs
}

func validatePorts(s service, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range s.Spec.Ports {
		errs = append(errs, validatePort(&s.Spec.Ports[i], len(s.Spec.Ports) > 1, names, list.Index(i))...)
	}
	return errs
}

// validatePortsTogether validates ports against the type of the service and each other.
func validatePortsTogether(s service, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	seen, onNodes := sets.New[key](), sets.New[key]()
	for i := range s.Spec.Ports {
		if s.Spec.Type == corev1.ServiceTypeClusterIP && s.Spec.Ports[i].NodePort != 0 {
			errs = append(errs, field.Forbidden(list.Index(i).Child("nodePort"),
				fmt.Sprintf("may not be used when `type` is '%s'", s.Spec.Type)))
		}
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if k := (key{p.Protocol, p.NodePort}); p.NodePort != 0 && onNodes.Has(k) {
			errs = append(errs, field.Duplicate(list.Index(i).Child("nodePort"), p.NodePort))
		} else {
			onNodes.Insert(k)
		}
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if k := (key{p.Protocol, p.Port}); seen.Has(k) {
			errs = append(errs, field.Duplicate(list.Index(i), corev1.ServicePort{Protocol: p.Protocol, Port: p.Port}))
		} else {
			seen.Insert(k)
		}
	}
	return errs
}

func validatePort(p *corev1.ServicePort, needsName bool, names sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case needsName && p.Name == "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case p.Name != "":
		errs = append(errs, check.Label(p.Name, path.Child("name"))...)
		if names.Has(p.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		names.Insert(p.Name)
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
	if p.TargetPort.Type == intstr.Int {
		for _, msg := range utilvalidation.IsValidPortNum(int(p.TargetPort.IntVal)) {
			errs = append(errs, field.Invalid(path.Child("targetPort"), p.TargetPort.IntVal, msg))
		}
	} else {
		for _, msg := range utilvalidation.IsValidPortName(p.TargetPort.StrVal) {
			errs = append(errs, field.Invalid(path.Child("targetPort"), p.TargetPort.StrVal, msg))
		}
	}
	if p.AppProtocol != nil {
		errs = append(errs, check.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}

func validateAffinity(s service, path *field.Path) field.ErrorList {
	c := s.Spec.SessionAffinityConfig
	timeout := path.Child("clientIP", "timeoutSeconds")
	switch s.Spec.SessionAffinity {
	case corev1.ServiceAffinityClientIP:
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			return field.ErrorList{field.Required(timeout, fmt.Sprintf("when `sessionAffinity` is %s",
				corev1.ServiceAffinityClientIP))}
		}
		if t := *c.ClientIP.TimeoutSeconds; t <= 0 || t > maxAffinitySeconds {
			return field.ErrorList{field.Invalid(timeout, t, fmt.Sprintf("must be greater than 0 and less than %d",
				maxAffinitySeconds))}
		}
	case corev1.ServiceAffinityNone:
		if c != nil {
			return field.ErrorList{field.Forbidden(path, fmt.Sprintf("must not be set when `sessionAffinity` is %s",
				corev1.ServiceAffinityNone))}
		}
	}
	return nil
}

var ipFamilies = sets.New(corev1.IPv4Protocol, corev1.IPv6Protocol)

// validateClusterIPs validates the IPs and their families against each other.
func validateClusterIPs(o options, s service, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	families, ips := spec.Child("ipFamilies"), spec.Child("clusterIPs")
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil // validateType forbids them
	}
	list := s.Spec.ClusterIPs
	if len(list) > 0 && s.Spec.ClusterIP == "" {
		errs = append(errs, field.Invalid(ips, list, "must be empty when `clusterIP` is not specified"))
	}
	if len(list) == 0 && s.Spec.ClusterIP != "" {
		errs = append(errs, field.Required(ips, ""))
	}
	if len(list) > 0 && s.Spec.ClusterIP != "" && list[0] != s.Spec.ClusterIP {
		errs = append(errs, field.Invalid(ips, list, "first value must match `clusterIP`"))
	}
	seen := sets.New[corev1.IPFamily]()
	for i, f := range s.Spec.IPFamilies {
		if !ipFamilies.Has(f) {
			errs = append(errs, field.NotSupported(families.Index(i), f, sets.List(ipFamilies)))
		}
		if seen.Has(f) {
			errs = append(errs, field.Duplicate(families.Index(i), f))
		}
		seen.Insert(f)
	}
	policy := s.Spec.IPFamilyPolicy
	if policy != nil {
		errs = append(errs, check.OneOf(*policy, spec.Child("ipFamilyPolicy"), corev1.IPFamilyPolicyPreferDualStack,
			corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)...)
	}
	errs = append(errs, validateIPList(o, s, ips)...)
	if len(errs) == 0 && policy != nil && *policy == corev1.IPFamilyPolicySingleStack && len(seen) > 1 {
		errs = append(errs, field.Invalid(spec.Child("ipFamilyPolicy"), *policy,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"))
	}
	return errs
}

func validateIPList(o options, s service, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := s.Spec.ClusterIPs
	for i, ip := range list {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(list) > 1 {
				errs = append(errs, field.Invalid(path, list, "'None' must be the first and only value"))
			}
			return errs
		}
		if e := o.addresses.IP(ip, path.Index(i)); len(e) > 0 {
			errs = append(errs, e...)
		}
	}
	malformed := len(errs) > 0
	if len(list) > 2 {
		errs = append(errs, field.Invalid(path, list, "may only hold up to 2 values"))
	}
	if malformed {
		return errs
	}
	if len(list) > 1 && familyOf(list[0]) == familyOf(list[1]) {
		errs = append(errs, field.Invalid(path, list, "may specify no more than one IP for each IP family"))
	}
	for i, ip := range list {
		if i < len(s.Spec.IPFamilies) && ipFamilies.Has(s.Spec.IPFamilies[i]) && familyOf(ip) != s.Spec.IPFamilies[i] {
			errs = append(errs, field.Invalid(path.Index(i), ip,
				fmt.Sprintf("expected an %v value as indicated by `ipFamilies[%v]`", s.Spec.IPFamilies[i], i)))
		}
	}
	return errs
}

func familyOf(text string) corev1.IPFamily {
	ip, ok := check.ParseIP(text)
	switch {
	case !ok:
		return ""
	case ip.Is4():
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// maxAffinitySeconds is how long a client may stick to a pod: a day.
const maxAffinitySeconds = 86400

const sourceRanges = corev1.AnnotationLoadBalancerSourceRangesKey

func validateLoadBalancer(o options, s service, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	balancer := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	const only = "may only be used when `type` is 'LoadBalancer'"
	ranges := spec.Child("LoadBalancerSourceRanges")
	if len(s.Spec.LoadBalancerSourceRanges) > 0 {
		if !balancer {
			errs = append(errs, field.Forbidden(ranges, only))
		}
		for i, r := range s.Spec.LoadBalancerSourceRanges {
			errs = append(errs, o.addresses.CIDR(strings.TrimSpace(r), ranges.Index(i))...)
		}
	} else if value, ok := s.Annotations[sourceRanges]; ok {
		p := field.NewPath("metadata", "annotations").Key(sourceRanges)
		if !balancer {
			errs = append(errs, field.Forbidden(p, only))
		}
		if value = strings.TrimSpace(value); value != "" {
			for _, r := range strings.Split(value, ",") {
				errs = append(errs, o.addresses.CIDR(strings.TrimSpace(r), p)...)
			}
		}
	}
	if s.Spec.AllocateLoadBalancerNodePorts != nil && !balancer {
		errs = append(errs, field.Forbidden(spec.Child("allocateLoadBalancerNodePorts"), only))
	}
	if balancer && s.Spec.AllocateLoadBalancerNodePorts == nil {
		errs = append(errs, field.Required(spec.Child("allocateLoadBalancerNodePorts"), ""))
	}
	return append(errs, validateLoadBalancerClass(s, spec.Child("loadBalancerClass"))...)
}

func validateLoadBalancerClass(s service, path *field.Path) field.ErrorList {
	switch c := s.Spec.LoadBalancerClass; {
	case c == nil:
		return nil
	case s.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return field.ErrorList{field.Forbidden(path, "may only be used when `type` is 'LoadBalancer'")}
	default:
		return check.QualifiedName(*c, path)
	}
}

func validateTrafficPolicies(s service, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	external := spec.Child("externalTrafficPolicy")
	policy := s.Spec.ExternalTrafficPolicy
	if externallyAccessible(s) {
		errs = append(errs, check.OneOf(policy, external, corev1.ServiceExternalTrafficPolicyCluster,
			corev1.ServiceExternalTrafficPolicyLocal)...)
	} else if policy != "" {
		errs = append(errs, field.Invalid(external, policy, "may only be set for externally-accessible services"))
	}
	health := spec.Child("healthCheckNodePort")
	if n := s.Spec.HealthCheckNodePort; !needsHealthPort(s) && n != 0 {
		errs = append(errs, field.Invalid(health, n,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	} else if needsHealthPort(s) && n != 0 {
		for _, msg := range utilvalidation.IsValidPortNum(int(n)) {
			errs = append(errs, field.Invalid(health, n, msg))
		}
	}
	internal := spec.Child("internalTrafficPolicy")
	switch p := s.Spec.InternalTrafficPolicy; {
	case p != nil:
		errs = append(errs, check.OneOf(*p, internal, corev1.ServiceInternalTrafficPolicyCluster,
			corev1.ServiceInternalTrafficPolicyLocal)...)
	case needsClusterIP(s):
		errs = append(errs, field.Required(internal, ""))
	}
	return errs
}
