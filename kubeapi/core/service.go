package core

import (
	"context"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

type service = *corev1.Service

// serviceKind declares services. What a service needs outside itself, IPs and
// ports, comes from a.
func serviceKind(a *serviceAllocation) registry.Kind[service] {
	return registry.Kind[service]{
		Hub: kind("Service"), Plural: "services", Singular: "service", ShortNames: []string{"svc"}, Categories: []string{"all"},
		Namespaced: true, Prefix: "services/specs",
		New:                      func() service { return &corev1.Service{} },
		NewList:                  func() runtime.Object { return &corev1.ServiceList{} },
		ValidateName:             validation.NameIsDNSLabel,
		AllowCreateOnUpdate:      true,
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
		Default:                  defaultService,
		PrepareForCreate: func(_ context.Context, s service) {
			s.Status = corev1.ServiceStatus{}
			oneAndList(s, nil)
		},
		PrepareForUpdate: func(_ context.Context, s, old service) {
			s.Status = old.Status
			oneAndList(s, old)
			forgetByType(s, old)
			keepAllocated(s, old)
		},
		BeginCreate: a.beginCreate,
		BeginUpdate: a.beginUpdate,
		AfterDelete: a.afterDelete,
		Validate:    func(_ context.Context, s service) field.ErrorList { return validateService(s, nil) },
		ValidateUpdate: func(_ context.Context, s, old service) field.ErrorList {
			return append(serviceKept(s, old), validateService(s, old)...)
		},
		Warnings:    serviceWarnings,
		ResetFields: strategy.Reset(v1, "status"),
		Status: &registry.StatusSubresource[service]{
			PrepareForUpdate: func(_ context.Context, s, old service) {
				s.Spec = old.Spec
				if s.Status.Conditions == nil && s.Spec.Type != corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer {
					s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
				}
			},
			ValidateUpdate: func(_ context.Context, s, _ service) field.ErrorList { return serviceStatus(s) },
			ResetFields:    strategy.Reset(v1, "spec"),
		},
		Columns: []registry.Column{
			show.Name(), show.Text("Type", show.Doc(corev1.ServiceSpec{}, "type")),
			show.Text("Cluster-IP", show.Doc(corev1.ServiceSpec{}, "clusterIP")),
			show.Text("External-IP", show.Doc(corev1.ServiceSpec{}, "externalIPs")),
			show.Text("Port(s)", show.Doc(corev1.ServiceSpec{}, "ports")), show.Age(),
			show.Wide(show.Text("Selector", show.Doc(corev1.ServiceSpec{}, "selector"))),
		},
		Cells: serviceCells,
		Fields: []registry.SelectableField[service]{
			{Path: "spec.clusterIP", Get: func(s service) string { return s.Spec.ClusterIP }},
			{Path: "spec.type", Get: func(s service) string { return string(s.Spec.Type) }},
		},
	}
}

func defaultService(s service) {
	spec := &s.Spec
	if spec.SessionAffinity == "" {
		spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	if spec.SessionAffinity == corev1.ServiceAffinityNone {
		spec.SessionAffinityConfig = nil
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		if c := spec.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr(corev1.DefaultClientIPServiceAffinitySeconds)},
			}
		}
	}
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if externallyAccessible(s) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.InternalTrafficPolicy == nil && needsClusterIP(s) {
		spec.InternalTrafficPolicy = ptr(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		if spec.AllocateLoadBalancerNodePorts == nil {
			spec.AllocateLoadBalancerNodePorts = ptr(true)
		}
		for i := range s.Status.LoadBalancer.Ingress {
			if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" && in.IPMode == nil {
				in.IPMode = ptr(corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

func externallyAccessible(s service) bool {
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeClusterIP:
		return len(s.Spec.ExternalIPs) > 0
	}
	return false
}

// needsClusterIP tells the types that have a cluster IP, be it "None".
func needsClusterIP(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeClusterIP || s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// needsNodePort tells whether every port gets a node port.
func needsNodePort(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && (s.Spec.AllocateLoadBalancerNodePorts == nil || *s.Spec.AllocateLoadBalancerNodePorts)
}

// mayHaveNodePorts tells whether ports can have a node port at all.
func mayHaveNodePorts(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// needsHealthPort tells whether the health of local endpoints is served at a port.
func needsHealthPort(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func headless(s service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

func serviceWarnings(_ context.Context, s, old service) []string {
	var w []string
	if len(s.Spec.ExternalIPs) > 0 {
		w = append(w, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if t := s.Spec.TrafficDistribution; t != nil && *t == corev1.ServiceTrafficDistributionPreferClose {
		w = append(w, `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	}
	return w
}

func serviceCells(s service) []any {
	internal := "<none>"
	if len(s.Spec.ClusterIPs) > 0 {
		internal = s.Spec.ClusterIPs[0]
	} else if s.Spec.ClusterIP != "" {
		internal = s.Spec.ClusterIP
	}
	return []any{
		s.Name, string(s.Spec.Type), internal, externalIPs(s), portsCell(s.Spec.Ports), show.Since(s.CreationTimestamp), formatLabels(s.Spec.Selector),
	}
}

func externalIPs(s service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		var at []string
		for i := range s.Status.LoadBalancer.Ingress {
			if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" {
				at = append(at, in.IP)
			} else if in.Hostname != "" {
				at = append(at, in.Hostname)
			}
		}
		sort.Strings(at)
		if at = append(at, s.Spec.ExternalIPs...); len(at) > 0 {
			return strings.Join(at, ",")
		}
		return "<pending>"
	}
	if len(s.Spec.ExternalIPs) > 0 {
		return strings.Join(s.Spec.ExternalIPs, ",")
	}
	return "<none>"
}

func portsCell(ports []corev1.ServicePort) string {
	if len(ports) == 0 {
		return "<none>"
	}
	out := make([]string, len(ports))
	for i := range ports {
		p := &ports[i]
		out[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			out[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return strings.Join(out, ",")
}
