package podspec

import corev1 "k8s.io/api/core/v1"

// DropDisabled forgets fields that belong to what is off unless asked for. It
// comes after the keeping of managed fields, like whatever the server decides of
// an object.
func DropDisabled(s *corev1.PodSpec) {
	dropStopSignals(s)
	dropTrustBundles(s)
}

// dropTrustBundles forgets sources of projected volumes whose API is off unless
// asked for.
func dropTrustBundles(s *corev1.PodSpec) {
	for i := range s.Volumes {
		if p := s.Volumes[i].Projected; p != nil {
			for j := range p.Sources {
				p.Sources[j].ClusterTrustBundle = nil
			}
		}
	}
}

// dropStopSignals forgets a field that v1.36 does not take yet.
func dropStopSignals(s *corev1.PodSpec) {
	for _, cs := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range cs {
			l := cs[i].Lifecycle
			if l == nil || l.StopSignal == nil {
				continue
			}
			if l.StopSignal = nil; l.PostStart == nil && l.PreStop == nil {
				cs[i].Lifecycle = nil
			}
		}
	}
}
