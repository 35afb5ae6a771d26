package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cells(s service, _ func(metav1.Time) string) []any {
	internal := "<none>"
	if len(s.Spec.ClusterIPs) > 0 {
		internal = s.Spec.ClusterIPs[0]
	} else if s.Spec.ClusterIP != "" {
		internal = s.Spec.ClusterIP
	}
	return []any{internal, externalIPs(s), portsCell(s.Spec.Ports)}
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
		slices.Sort(at)
		if at = append(slices.Compact(at), s.Spec.ExternalIPs...); len(at) > 0 {
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
