package networking

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

const classAnnotation = "kubernetes.io/ingress.class"

func ingressKind(a check.Addresses) kind.Kind[*networkingv1.Ingress] {
	type ingress = *networkingv1.Ingress
	return kind.Kind[ingress]{
		Namespaced: true, Prefix: "ingress", Names: kind.Names{ShortNames: []string{"ing"}},
		Representation: kind.Typed[ingress]{Former: formerIngresses()},
		Write: kind.Write[ingress]{
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: validateIngress,
			Warnings: ingressWarnings,
		},
		Columns: show.Columns(
			show.FieldOr("Class", "spec.ingressClassName", show.None,
				"The name of the IngressClass resource that should be used for additional configuration"),
			show.Cell("Hosts", "Hosts that incoming requests are matched against before the ingress rule", ingressHosts),
			show.Cell("Address", "Address is a list containing ingress points for the load-balancer", ingressAddresses),
			show.Cell("Ports", "Ports of TLS configurations that open", ingressPorts)),
		Status: &kind.Subresource[ingress]{
			Validate: func(_ context.Context, i, old ingress) field.ErrorList {
				return validateLoadBalancer(&i.Status.LoadBalancer, &old.Status.LoadBalancer, a,
					field.NewPath("status", "loadBalancer"))
			},
			Warnings: addressWarnings,
		},
	}
}

func ingressPorts(i *networkingv1.Ingress) string {
	if len(i.Spec.TLS) > 0 {
		return "80, 443"
	}
	return "80"
}

// ingressWarnings warn of a new ingress that names its class as it was done before the field.
func ingressWarnings(_ context.Context, i, old *networkingv1.Ingress) []string {
	if _, ok := i.Annotations[classAnnotation]; ok && old == nil && i.Spec.IngressClassName == nil {
		return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead",
			classAnnotation)}
	}
	return nil
}

// addressWarnings warn of addresses that are not in canonical form.
func addressWarnings(_ context.Context, i, _ *networkingv1.Ingress) []string {
	s := &i.Status.LoadBalancer
	var warnings []string
	for k := range s.Ingress {
		if ip := s.Ingress[k].IP; ip != "" {
			warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(k),
				ip)...)
		}
	}
	return warnings
}

func ingressHosts(i *networkingv1.Ingress) string {
	var hosts []string
	more := 0
	for _, r := range i.Spec.Rules {
		if len(hosts) == 3 {
			more++
		} else if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	list := strings.Join(hosts, ",")
	if more > 0 {
		return fmt.Sprintf("%s + %d more...", list, more)
	}
	return list
}

func ingressAddresses(i *networkingv1.Ingress) string {
	var list []string
	for _, a := range i.Status.LoadBalancer.Ingress {
		if text := cmp.Or(a.IP, a.Hostname); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ",")
}

// validateNewIngress wants the annotation and the field to name the same class.
func validateIngress(_ context.Context, i, old *networkingv1.Ingress) field.ErrorList {
	if old != nil {
		return validateIngressSpec(i)
	}
	errs := validateIngressSpec(i)
	if class, ok := i.Annotations[classAnnotation]; ok && i.Spec.IngressClassName != nil &&
		class != *i.Spec.IngressClassName {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(classAnnotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

func validateIngressSpec(i *networkingv1.Ingress) field.ErrorList {
	s, path := &i.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, s.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if s.DefaultBackend != nil {
		errs = append(errs, validateBackend(s.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for k := range s.Rules {
		errs = append(errs, validateIngressRule(&s.Rules[k], path.Child("rules").Index(k))...)
	}
	for k, t := range s.TLS {
		at := path.Child("tls").Index(k)
		for h, host := range t.Hosts {
			errs = append(errs, validateHost(host, at.Child("hosts").Index(h))...)
		}
		if t.SecretName != "" {
			errs = append(errs, check.Subdomain(t.SecretName, at.Child("secretName"))...)
		}
	}
	if s.IngressClassName != nil {
		errs = append(errs, check.Subdomain(*s.IngressClassName, path.Child("ingressClassName"))...)
	}
	return errs
}

func validateHost(host string, path *field.Path) field.ErrorList {
	if strings.Contains(host, "*") {
		return check.Name(validation.IsWildcardDNS1123Subdomain(host), host, path)
	}
	return check.Subdomain(host, path)
}

func validateIngressRule(r *networkingv1.IngressRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Host != "" {
		if netutils.ParseIPSloppy(r.Host) != nil {
			errs = append(errs, field.Invalid(path.Child("host"), r.Host, "must be a DNS name, not an IP address"))
		}
		errs = append(errs, validateHost(r.Host, path.Child("host"))...)
	}
	if r.HTTP == nil {
		return errs
	}
	paths := path.Child("http", "paths")
	if len(r.HTTP.Paths) == 0 {
		errs = append(errs, field.Required(paths, ""))
	}
	for i := range r.HTTP.Paths {
		errs = append(errs, validateHTTPPath(&r.HTTP.Paths[i], paths.Index(i))...)
	}
	return errs
}

func validateHTTPPath(p *networkingv1.HTTPIngressPath, path *field.Path) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	var errs field.ErrorList
	at := path.Child("path")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !strings.HasPrefix(p.Path, "/") {
			errs = append(errs, field.Invalid(at, p.Path, "must be an absolute path"))
		}
		if p.Path != "" {
			for _, s := range []string{"//", "/./", "/../", "%2f", "%2F"} {
				if strings.Contains(p.Path, s) {
					errs = append(errs, field.Invalid(at, p.Path, fmt.Sprintf("must not contain '%s'", s)))
				}
			}
			for _, s := range []string{"/..", "/."} {
				if strings.HasSuffix(p.Path, s) {
					errs = append(errs, field.Invalid(at, p.Path, fmt.Sprintf("cannot end with '%s'", s)))
				}
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			errs = append(errs, field.Invalid(at, p.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, check.OneOf(*p.PathType, path.Child("pathType"), networkingv1.PathTypeExact,
			networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
	}
	return append(errs, validateBackend(&p.Backend, path.Child("backend"))...)
}

func validateBackend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return validateLocalRef(b.Resource, path.Child("resource"))
	case b.Service == nil:
		return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
	}
	var errs field.ErrorList
	name := path.Child("service", "name")
	if b.Service.Name == "" {
		errs = append(errs, field.Required(name, ""))
	} else {
		errs = append(errs, check.Name(validation.IsDNS1123Label(b.Service.Name), b.Service.Name, name)...)
	}
	port := b.Service.Port
	at := path.Child("service", "port")
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, check.Name(validation.IsValidPortName(port.Name), port.Name, at.Child("name"))...)
	case port.Number != 0:
		for _, m := range validation.IsValidPortNum(int(port.Number)) {
			errs = append(errs, field.Invalid(at.Child("number"), port.Number, m))
		}
	default:
		errs = append(errs, field.Required(path, "port name or number is required"))
	}
	return errs
}

// validateLocalRef validates a reference to an object of any kind.
func validateLocalRef(r *corev1.TypedLocalObjectReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.APIGroup != nil {
		errs = append(errs, check.Subdomain(*r.APIGroup, path.Child("apiGroup"))...)
	}
	for _, f := range []struct{ value, name string }{{r.Kind, "kind"}, {r.Name, "name"}} {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), ""))
		} else {
			errs = append(errs, check.PathSegment(f.value, path.Child(f.name))...)
		}
	}
	return errs
}

func validateLoadBalancer(s, old *networkingv1.IngressLoadBalancerStatus, a check.Addresses,
	path *field.Path) field.ErrorList {
	a.Known = sets.New[string]()
	for _, i := range old.Ingress {
		a.Known.Insert(i.IP)
	}
	var errs field.ErrorList
	for k, i := range s.Ingress {
		at := path.Child("ingress").Index(k)
		if i.IP != "" {
			errs = append(errs, a.IP(i.IP, at.Child("ip"))...)
		}
		if i.Hostname != "" {
			errs = append(errs, check.Subdomain(i.Hostname, at.Child("hostname"))...)
			if netutils.ParseIPSloppy(i.Hostname) != nil {
				errs = append(errs, field.Invalid(at.Child("hostname"), i.Hostname, "must be a DNS name, not an IP address"))
			}
		}
	}
	return errs
}
