package quota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

var (
	standard = sets.New[corev1.ResourceName](
		"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
		"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
		"resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps",
		"services.nodeports", "services.loadbalancers",
	)
	podCompute = sets.New[corev1.ResourceName]("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu",
		"requests.memory")
	claims = sets.New[corev1.ResourceName]("persistentvolumeclaims", "requests.storage")
)

const requests, limits = "requests.", "limits."

// Standard reports whether quotas know a resource by a name without a domain.
func Standard(name corev1.ResourceName) bool { return standard.Has(name) || hugePages(name) }

func hugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(strings.TrimPrefix(string(name), requests), corev1.ResourceHugePagesPrefix)
}

// KnownScope reports whether there is such a scope.
func KnownScope(s corev1.ResourceQuotaScope) bool {
	switch s {
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeBestEffort,
		corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass:
		return true
	}
	return false
}

// ScopeFits reports whether objects in a scope can use a resource.
func ScopeFits(s corev1.ResourceQuotaScope, name corev1.ResourceName) bool {
	switch s {
	case corev1.ResourceQuotaScopeBestEffort:
		return name == corev1.ResourcePods
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return claims.Has(name)
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return name == corev1.ResourcePods || podCompute.Has(name)
	}
	return true
}
