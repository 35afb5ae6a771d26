package service

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

type service = *corev1.Service

// options are what services may be; the zero value is that of v1.36.
type options struct {
	// namesOfOld requires names that begin with a letter
	// (RelaxedServiceNameValidation is off).
	namesOfOld bool
	// preferCloseOnly allows no other distribution of traffic
	// (PreferSameTrafficDistribution is off).
	preferCloseOnly bool
	addresses       check.Addresses
}

// Kind declares services. What a service needs outside itself, IPs and
// ports, comes from a.
func Kind(a *Allocation) kind.Kind[service] {
	return kind.Kind[service]{
		Representation: kind.Typed[service]{MetadataOnUpdate: kind.MetadataChange, OnRead: a.onRead()},
		Namespaced:     true, Prefix: "services/specs",
		Names: kind.Names{ShortNames: []string{"svc"}, Categories: []string{"all"}},
		Write: kind.Write[service]{
			ValidateName:        a.options.name(),
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
			Default:  setDefaults,
			Prepare:  prepare,
			Begin:    a.begin,
			Validate: a.options.validate,
			Warnings: warnings,
		},
		Delete: kind.Delete[service]{ReturnsObject: true, After: a.afterDelete},
		Columns: show.Columns(show.Path("spec.type"), show.Text("Cluster-IP", ".spec.clusterIP"),
			show.Text("External-IP", ".spec.externalIPs"), show.Text("Port(s)", ".spec.ports"),
			show.Wide(show.Path("spec.selector"))),
		Show:   kind.Show[service]{Cells: cells},
		Select: kind.Select[service]{Fields: kind.Fields[service]("spec.clusterIP", "spec.type")},
		Status: &kind.Subresource[service]{
			Validate: func(_ context.Context, s, _ service) field.ErrorList { return validateStatus(a.options, s) },
			Warnings: statusWarnings,
		},
	}
}

func prepare(_ context.Context, s, old service) {
	oneAndList(s, old)
	if old != nil {
		forgetByType(s, old)
		keepAllocated(s, old)
		trimToSingle(s, old)
	}
	forgetInternalTraffic(s)
}

func (o options) validate(_ context.Context, s, old service) field.ErrorList {
	if old == nil {
		return validate(o, s)
	}
	return append(validateFixed(s, old), validate(o, s)...)
}

func warnings(_ context.Context, s, _ service) []string {
	w := addressWarnings(s)
	if headless(s) {
		w = append(w, ignoredByHeadless(s)...)
	} else if len(s.Spec.ExternalIPs) > 0 {
		text := "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
		if s.Spec.Type == corev1.ServiceTypeExternalName {
			text = `spec.externalIPs is ignored when spec.type is "ExternalName"`
		}
		w = append(w, text)
	}
	if ip := s.Spec.LoadBalancerIP; ip != "" {
		w = append(w, utilvalidation.GetWarningsForIP(field.NewPath("spec", "loadBalancerIP"), ip)...)
	}
	if s.Spec.ExternalName != "" && s.Spec.Type != corev1.ServiceTypeExternalName {
		w = append(w, `spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if t := s.Spec.TrafficDistribution; t != nil && *t == corev1.ServiceTrafficDistributionPreferClose {
		w = append(w, `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	}
	return w
}

// ignoredByHeadless warns of fields that mean nothing without a cluster IP.
func ignoredByHeadless(s service) []string {
	var w []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{s.Spec.LoadBalancerIP != "", "loadBalancerIP"},
		{len(s.Spec.ExternalIPs) > 0, "externalIPs"},
		{s.Spec.SessionAffinity != corev1.ServiceAffinityNone, "SessionAffinity"},
	} {
		if f.set {
			w = append(w, fmt.Sprintf("spec.%s is ignored for headless services", f.name))
		}
	}
	return w
}

// addressWarnings warns of addresses and ranges that are not in canonical form.
func addressWarnings(s service) []string {
	var w []string
	if !headless(s) {
		for i, ip := range s.Spec.ClusterIPs {
			w = append(w, utilvalidation.GetWarningsForIP(field.NewPath("spec", "clusterIPs").Index(i), ip)...)
		}
	}
	for i, ip := range s.Spec.ExternalIPs {
		w = append(w, utilvalidation.GetWarningsForIP(field.NewPath("spec", "externalIPs").Index(i), ip)...)
	}
	for i, r := range s.Spec.LoadBalancerSourceRanges {
		w = append(w, utilvalidation.GetWarningsForCIDR(field.NewPath("spec", "loadBalancerSourceRanges").Index(i), r)...)
	}
	return w
}

func statusWarnings(_ context.Context, s, _ service) []string {
	var w []string
	for i := range s.Status.LoadBalancer.Ingress {
		if ip := s.Status.LoadBalancer.Ingress[i].IP; ip != "" {
			w = append(w, utilvalidation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(i), ip)...)
		}
	}
	return w
}

func (o options) name() func(name string, prefix bool) []string {
	if o.namesOfOld {
		return validation.NameIsDNS1035Label
	}
	return validation.NameIsDNSLabel
}
