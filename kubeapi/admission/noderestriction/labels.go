package noderestriction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kubeletLabels are the Kubernetes labels that a kubelet may set on its node; kubeletDomains are domains in which
// it may set any label.
var (
	kubeletLabels = []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch", corev1.LabelWindowsBuild,
	}
	kubeletDomains = []string{corev1.LabelNamespaceSuffixKubelet, corev1.LabelNamespaceSuffixNode}
)

// foreignLabels returns the changed labels that a kubelet may not set, sorted.
func foreignLabels(labels, old map[string]string) []string {
	var foreign []string
	note := func(key string) {
		if restricted(key) && !slices.Contains(foreign, key) {
			foreign = append(foreign, key)
		}
	}
	for key, value := range labels {
		if before, ok := old[key]; !ok || before != value {
			note(key)
		}
	}
	for key := range old {
		if _, ok := labels[key]; !ok {
			note(key)
		}
	}
	slices.Sort(foreign)
	return foreign
}

func restricted(label string) bool {
	domain, _, found := strings.Cut(label, "/")
	if !found {
		return false
	}
	if within(domain, corev1.LabelNamespaceNodeRestriction) {
		return true
	}
	if !within(domain, "kubernetes.io") && !within(domain, "k8s.io") || slices.Contains(kubeletLabels, label) {
		return false
	}
	return !slices.ContainsFunc(kubeletDomains, func(d string) bool { return within(domain, d) })
}

// within reports whether a domain is other or a subdomain of it.
func within(domain, other string) bool {
	return domain == other || strings.HasSuffix(domain, "."+other)
}
