package fieldgates

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func podRules() []rule {
	return []rule{
		part("ContainerRestartRules", usesRestartRules, dropRestartRules),
		part("ContainerStopSignals",
			func(c *corev1.Container) bool { return hasStopSignal(c.Lifecycle) },
			func(c *corev1.Container) { dropStopSignal(&c.Lifecycle) }),
		part("ContainerStopSignals",
			func(c *corev1.EphemeralContainerCommon) bool { return hasStopSignal(c.Lifecycle) },
			func(c *corev1.EphemeralContainerCommon) { dropStopSignal(&c.Lifecycle) }),
		part("ImageVolume", func(s *corev1.PodSpec) bool { return slices.ContainsFunc(s.Volumes, ofImage) },
			dropImageVolumes),
		field("MatchLabelKeysInPodTopologySpread",
			func(c *corev1.TopologySpreadConstraint) *[]string { return &c.MatchLabelKeys }),
		field("PodCertificateRequest", func(p *corev1.VolumeProjection) **corev1.PodCertificateProjection { return &p.PodCertificate }),
		field("ProcMountType", func(c *corev1.SecurityContext) **corev1.ProcMountType { return &c.ProcMount }),
		field("UserNamespacesSupport", func(s *corev1.PodSpec) **bool { return &s.HostUsers }),
	}
}

func podStatusRules() []rule {
	type list = corev1.ResourceList
	return []rule{
		field("ImageVolumeWithDigest", func(s *corev1.VolumeMountStatus) **corev1.VolumeStatus { return &s.VolumeStatus }),
		field("InPlacePodVerticalScaling", func(s *corev1.ContainerStatus) *list { return &s.AllocatedResources }),
		field("PodObservedGenerationTracking", func(s *corev1.PodStatus) *int64 { return &s.ObservedGeneration }),
		field("PodObservedGenerationTracking", func(c *corev1.PodCondition) *int64 { return &c.ObservedGeneration }),
	}
}

func hasStopSignal(l *corev1.Lifecycle) bool { return l != nil && l.StopSignal != nil }

// dropStopSignal drops the field, and what is empty without it.
func dropStopSignal(l **corev1.Lifecycle) {
	if (*l).StopSignal = nil; (*l).PostStart == nil && (*l).PreStop == nil {
		*l = nil
	}
}

// usesRestartRules reports whether containers say how they are restarted; of init
// containers, only the rules are new.
func usesRestartRules(s *corev1.PodSpec) bool {
	return slices.ContainsFunc(s.Containers, func(c corev1.Container) bool {
		return c.RestartPolicy != nil ||
			len(c.RestartPolicyRules) > 0
	}) ||
		slices.ContainsFunc(s.InitContainers, func(c corev1.Container) bool { return len(c.RestartPolicyRules) > 0 })
}

func dropRestartRules(s *corev1.PodSpec) {
	for i := range s.Containers {
		s.Containers[i].RestartPolicy, s.Containers[i].RestartPolicyRules = nil, nil
	}
	for i := range s.InitContainers {
		s.InitContainers[i].RestartPolicyRules = nil
	}
}

func ofImage(v corev1.Volume) bool { return v.Image != nil }

// dropImageVolumes drops the volumes, and where they are mounted.
func dropImageVolumes(s *corev1.PodSpec) {
	gone := map[string]bool{}
	s.Volumes = slices.DeleteFunc(s.Volumes, func(v corev1.Volume) bool {
		gone[v.Name] = v.Image != nil
		return v.Image != nil
	})
	unmounted := func(mounts []corev1.VolumeMount) []corev1.VolumeMount {
		return slices.DeleteFunc(mounts, func(m corev1.VolumeMount) bool { return gone[m.Name] })
	}
	for _, cs := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range cs {
			cs[i].VolumeMounts = unmounted(cs[i].VolumeMounts)
		}
	}
	for i := range s.EphemeralContainers {
		s.EphemeralContainers[i].VolumeMounts = unmounted(s.EphemeralContainers[i].VolumeMounts)
	}
}
