package service

import (
	corev1 "k8s.io/api/core/v1"
)

func externallyAccessible(s service) bool {
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeClusterIP:
		return len(s.Spec.ExternalIPs) > 0
	}
	return false
}

// needsClusterIP reports whether the type has a cluster IP; "None" counts. A type that validation rejects does.
func needsClusterIP(s service) bool { return s.Spec.Type != corev1.ServiceTypeExternalName }

// needsNodePort reports whether every port gets a node port.
func needsNodePort(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && (s.Spec.AllocateLoadBalancerNodePorts == nil ||
			*s.Spec.AllocateLoadBalancerNodePorts)
}

// mayHaveNodePorts reports whether ports can have a node port at all.
func mayHaveNodePorts(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// needsHealthPort reports whether the health of local endpoints is served at a port.
func needsHealthPort(s service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func headless(s service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }
