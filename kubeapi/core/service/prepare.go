package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"triplane.dev/kubeapi/check"
)

// oneAndList keeps clusterIP and clusterIPs in step for clients that know only
// the one: where they change it, the list follows.
func oneAndList(s, old service) {
	spec := &s.Spec
	if old == nil {
		if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		return
	}
	if spec.ClusterIP == old.Spec.ClusterIP || !slices.Equal(spec.ClusterIPs, old.Spec.ClusterIPs) {
		if len(spec.ClusterIPs) == 0 && spec.ClusterIP != "" && old.Spec.ClusterIP != spec.ClusterIP {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		return
	}
	switch {
	case spec.ClusterIP == "":
		spec.ClusterIPs = nil
	case old.Spec.ClusterIP != "" || len(spec.ClusterIPs) == 0:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}

// keepAllocated gives back what the server has chosen where an update leaves it
// out.
func keepAllocated(s, old service) {
	if needsClusterIP(s) && needsClusterIP(old) {
		if s.Spec.ClusterIP == "" {
			s.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(s.Spec.ClusterIPs) == 0 && s.Spec.ClusterIP == old.Spec.ClusterIP {
			s.Spec.ClusterIPs = old.Spec.ClusterIPs
		}
	}
	if needsNodePort(s) && needsNodePort(old) {
		keepNodePorts(s, old)
	}
	if needsHealthPort(s) && needsHealthPort(old) && s.Spec.HealthCheckNodePort == 0 {
		s.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// keepNodePorts gives ports without a node port the one that the port of their
// name had, unless the client gave it to another.
func keepNodePorts(s, old service) {
	before := map[string]int32{}
	for _, p := range old.Spec.Ports {
		before[p.Name] = p.NodePort
	}
	given := sets.New[int32]()
	for _, p := range s.Spec.Ports {
		given.Insert(p.NodePort)
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if n := before[p.Name]; p.NodePort == 0 && !given.Has(n) {
			p.NodePort = n
		}
	}
}

// forgetByType drops what the new type cannot have, where the client did not
// change it in the same update.
func forgetByType(s, old service) {
	spec, was := &s.Spec, &old.Spec
	if needsClusterIP(old) && !needsClusterIP(s) {
		// Clients that know only the one IP leave the list out.
		if spec.ClusterIP == was.ClusterIP && (len(spec.ClusterIPs) == 0 || slices.Equal(spec.ClusterIPs, was.ClusterIPs)) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = nil
		}
		if !check.Differs(spec.IPFamilyPolicy, was.IPFamilyPolicy) {
			spec.IPFamilyPolicy = nil
		}
		if !check.Differs(spec.InternalTrafficPolicy, was.InternalTrafficPolicy) {
			spec.InternalTrafficPolicy = nil
		}
	}
	if mayHaveNodePorts(old) && !mayHaveNodePorts(s) && sameNodePorts(s, old) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if needsHealthPort(old) && !needsHealthPort(s) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		if !check.Differs(spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if !check.Differs(spec.LoadBalancerClass, was.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
		s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	if externallyAccessible(old) && !externallyAccessible(s) && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
}

// trimToSingle removes the secondary IP and family that an update to a single stack leaves
// as they were.
func trimToSingle(s, old service) {
	spec, was := &s.Spec, &old.Spec
	if !single(spec.IPFamilyPolicy) || was.IPFamilyPolicy == nil || single(was.IPFamilyPolicy) {
		return
	}
	if len(spec.ClusterIPs) > 1 && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
		spec.ClusterIPs = spec.ClusterIPs[:1:1]
	}
	if len(spec.IPFamilies) > 1 && slices.Equal(spec.IPFamilies, was.IPFamilies) {
		spec.IPFamilies = spec.IPFamilies[:1:1]
	}
}

func single(p *corev1.IPFamilyPolicy) bool { return p != nil && *p == corev1.IPFamilyPolicySingleStack }

// forgetInternalTraffic removes the policy of traffic within the cluster from what has none:
// earlier releases gave ExternalName Services one, too. What is invalid is left to validation.
func forgetInternalTraffic(s service) {
	if p := s.Spec.InternalTrafficPolicy; s.Spec.Type == corev1.ServiceTypeExternalName && p != nil &&
		(*p == corev1.ServiceInternalTrafficPolicyCluster || *p == corev1.ServiceInternalTrafficPolicyLocal) {
		s.Spec.InternalTrafficPolicy = nil
	}
}

func sameNodePorts(s, old service) bool {
	before := map[int32]bool{}
	for _, p := range old.Spec.Ports {
		before[p.NodePort] = true
	}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 && !before[p.NodePort] {
			return false
		}
	}
	return true
}
