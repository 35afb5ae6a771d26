package podspec

import corev1 "k8s.io/api/core/v1"

// QOSClass is the quality of service that a pod's CPU and memory ask for.
func QOSClass(s *corev1.PodSpec) corev1.PodQOSClass {
	if r := s.Resources; r != nil {
		return classOf(r.Requests, r.Limits, guaranteed(r))
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	all := true
	for _, cs := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range cs {
			r := &cs[i].Resources
			add(requests, positive(r.Requests))
			add(limits, positive(r.Limits))
			all = all && limited(r.Limits)
		}
	}
	return classOf(requests, limits, all && guaranteed(&corev1.ResourceRequirements{Requests: requests, Limits: limits}))
}

func classOf(requests, limits corev1.ResourceList, guaranteed bool) corev1.PodQOSClass {
	switch {
	case !hasCompute(requests) && !hasCompute(limits):
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// guaranteed: CPU and memory limited, and every request that is made equal to
// its limit.
func guaranteed(r *corev1.ResourceRequirements) bool {
	if !limited(r.Limits) {
		return false
	}
	requests := 0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		req, ok := r.Requests[name]
		if !ok || req.IsZero() {
			continue
		}
		requests++
		if lim := r.Limits[name]; lim.Cmp(req) != 0 {
			return false
		}
	}
	return requests == 2
}

func limited(l corev1.ResourceList) bool {
	cpu, memory := l[corev1.ResourceCPU], l[corev1.ResourceMemory]
	return cpu.Sign() > 0 && memory.Sign() > 0
}

func hasCompute(l corev1.ResourceList) bool { return len(positive(l)) > 0 }

func positive(l corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if v, ok := l[name]; ok && v.Sign() > 0 {
			out[name] = v
		}
	}
	return out
}
