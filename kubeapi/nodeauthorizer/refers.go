package nodeauthorizer

import corev1 "k8s.io/api/core/v1"

// Refers reports whether a pod refers to any Secret, and to any ConfigMap.
func Refers(p *corev1.Pod) (secrets, configMaps bool) {
	for _, o := range usesOf(p) {
		secrets = secrets || o.kind == secret
		configMaps = configMaps || o.kind == configMap
	}
	return secrets, configMaps
}
