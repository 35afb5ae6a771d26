package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// QOSClass is the quality of service that a pod's CPU and memory ask for, by the features that are on.
func (o Options) QOSClass(s *corev1.PodSpec) corev1.PodQOSClass {
	if s.Resources != nil && Empty(s.Resources) && o.PodLevel.Empty {
		return corev1.PodQOSBestEffort
	}
	return QOSClass(s)
}

// Empty reports whether nothing is requested or limited.
func Empty(r *corev1.ResourceRequirements) bool { return len(r.Requests) == 0 && len(r.Limits) == 0 }

// QOSClass is the quality of service that a pod's CPU and memory ask for.
func QOSClass(s *corev1.PodSpec) corev1.PodQOSClass {
	var requests, limits compute
	if r := s.Resources; r != nil && !Empty(r) {
		requests.add(r.Requests)
		return classOf(&requests, &limits, limits.add(r.Limits))
	}
	limited := true
	for _, cs := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range cs {
			requests.add(cs[i].Resources.Requests)
			both := limits.add(cs[i].Resources.Limits)
			limited = limited && both
		}
	}
	return classOf(&requests, &limits, limited)
}

// classOf is the class of what is requested and limited in all; limited says that CPU and memory of
// everything are limited.
func classOf(requests, limits *compute, limited bool) corev1.PodQOSClass {
	switch {
	case requests.none() && limits.none():
		return corev1.PodQOSBestEffort
	case limited && requests.cpu.Cmp(limits.cpu) == 0 && requests.memory.Cmp(limits.memory) == 0:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// compute is a sum of CPU and memory.
type compute struct{ cpu, memory resource.Quantity }

// add adds the amounts of a list that are above zero, and reports whether both are.
func (c *compute) add(l corev1.ResourceList) (both bool) {
	cpu, memory := l[corev1.ResourceCPU], l[corev1.ResourceMemory]
	if cpu.Sign() > 0 {
		c.cpu.Add(cpu)
	}
	if memory.Sign() > 0 {
		c.memory.Add(memory)
	}
	return cpu.Sign() > 0 && memory.Sign() > 0
}

func (c *compute) none() bool { return c.cpu.IsZero() && c.memory.IsZero() }
