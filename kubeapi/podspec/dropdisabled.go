package podspec

import corev1 "k8s.io/api/core/v1"

// gated is a part of pod specs that belongs to a feature which is off unless asked
// for.
type gated struct {
	used func(*corev1.PodSpec) bool
	drop func(*corev1.PodSpec)
}

// disabled lists what v1.36 does not take with its default feature gates.
func disabled() []gated {
	return []gated{
		{usesStopSignals, dropStopSignals},         // ContainerStopSignals
		{usesTrustBundles, dropTrustBundles},       // ClusterTrustBundleProjection
		{usesPodCertificates, dropPodCertificates}, // PodCertificateRequest
		{usesSchedulingGroup, dropSchedulingGroup}, // GenericWorkload
	}
}

// DropDisabled drops fields that belong to features which are off, unless old, the
// spec before an update, uses the feature. It comes after the keeping of managed
// fields, like whatever the server decides of an object. old is nil for a new
// object.
func DropDisabled(s, old *corev1.PodSpec) {
	for _, g := range disabled() {
		if g.used(s) && (old == nil || !g.used(old)) {
			g.drop(s)
		}
	}
}

func usesSchedulingGroup(s *corev1.PodSpec) bool { return s.SchedulingGroup != nil }

func dropSchedulingGroup(s *corev1.PodSpec) { s.SchedulingGroup = nil }

func usesTrustBundles(s *corev1.PodSpec) bool {
	return projects(s, func(p *corev1.VolumeProjection) bool { return p.ClusterTrustBundle != nil })
}

func dropTrustBundles(s *corev1.PodSpec) {
	projects(s, func(p *corev1.VolumeProjection) bool {
		p.ClusterTrustBundle = nil
		return false
	})
}

func usesPodCertificates(s *corev1.PodSpec) bool {
	return projects(s, func(p *corev1.VolumeProjection) bool { return p.PodCertificate != nil })
}

func dropPodCertificates(s *corev1.PodSpec) {
	projects(s, func(p *corev1.VolumeProjection) bool {
		p.PodCertificate = nil
		return false
	})
}

// projects reports whether a source of a projected volume is one that match looks
// for; it visits no further ones then.
func projects(s *corev1.PodSpec, match func(*corev1.VolumeProjection) bool) bool {
	for i := range s.Volumes {
		p := s.Volumes[i].Projected
		if p == nil {
			continue
		}
		for j := range p.Sources {
			if match(&p.Sources[j]) {
				return true
			}
		}
	}
	return false
}

func usesStopSignals(s *corev1.PodSpec) bool {
	return lifecycles(s, func(l **corev1.Lifecycle) bool { return *l != nil && (*l).StopSignal != nil })
}

// dropStopSignals drops the field, and what is empty without it.
func dropStopSignals(s *corev1.PodSpec) {
	lifecycles(s, func(l **corev1.Lifecycle) bool {
		if *l == nil || (*l).StopSignal == nil {
			return false
		}
		if (*l).StopSignal = nil; (*l).PostStart == nil && (*l).PreStop == nil {
			*l = nil
		}
		return false
	})
}

// lifecycles is projects for the lifecycles of all containers.
func lifecycles(s *corev1.PodSpec, match func(**corev1.Lifecycle) bool) bool {
	for _, cs := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range cs {
			if match(&cs[i].Lifecycle) {
				return true
			}
		}
	}
	for i := range s.EphemeralContainers {
		if match(&s.EphemeralContainers[i].Lifecycle) {
			return true
		}
	}
	return false
}
