package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/kubeapi/podspec"
)

// inScopes reports whether an object is in all scopes of a quota.
func inScopes(q *corev1.ResourceQuota, obj runtime.Object) bool {
	for _, s := range q.Spec.Scopes {
		if !inScope(corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists}, obj) {
			return false
		}
	}
	if q.Spec.ScopeSelector == nil {
		return true
	}
	for _, r := range q.Spec.ScopeSelector.MatchExpressions {
		if !inScope(r, obj) {
			return false
		}
	}
	return true
}

func inScope(r corev1.ScopedResourceSelectorRequirement, obj runtime.Object) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return podInScope(r, o)
	case *corev1.PersistentVolumeClaim:
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass &&
			slices.ContainsFunc(attributesClasses(o), func(class string) bool { return selects(r, class) })
	}
	return false
}

func podInScope(r corev1.ScopedResourceSelectorRequirement, p *corev1.Pod) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return Terminating(p)
	case corev1.ResourceQuotaScopeNotTerminating:
		return !Terminating(p)
	case corev1.ResourceQuotaScopeBestEffort:
		return podspec.QOSClass(&p.Spec) == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return podspec.QOSClass(&p.Spec) != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		return selects(r, p.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(p.Spec.Affinity)
	}
	return false
}

// attributesClasses are the VolumeAttributesClasses that a claim asks for, its volume has, or is about to have; ""
// if there is none.
func attributesClasses(c *corev1.PersistentVolumeClaim) []string {
	classes := []string{deref(c.Spec.VolumeAttributesClassName), deref(c.Status.CurrentVolumeAttributesClassName)}
	if m := c.Status.ModifyVolumeStatus; m != nil {
		classes = append(classes, m.TargetVolumeAttributesClassName)
	}
	if named := slices.DeleteFunc(classes, func(class string) bool { return class == "" }); len(named) > 0 {
		return named
	}
	return []string{""}
}

// Terminating reports whether a pod has a deadline, which it may get later.
func Terminating(p *corev1.Pod) bool {
	return p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0
}

// selects reports whether a requirement selects the value of an object, "" for one without.
func selects(r corev1.ScopedResourceSelectorRequirement, value string) bool {
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return value != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return value == ""
	case corev1.ScopeSelectorOpIn:
		return value != "" && slices.Contains(r.Values, value)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(r.Values, value)
	}
	return false
}

// crossesNamespaces reports whether a term of affinity or anti-affinity looks at pods of other namespaces.
func crossesNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	term := func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil }
	weighted := func(w corev1.WeightedPodAffinityTerm) bool { return term(w.PodAffinityTerm) }
	if x := a.PodAffinity; x != nil && (slices.ContainsFunc(x.RequiredDuringSchedulingIgnoredDuringExecution, term) ||
		slices.ContainsFunc(x.PreferredDuringSchedulingIgnoredDuringExecution, weighted)) {
		return true
	}
	x := a.PodAntiAffinity
	return x != nil && (slices.ContainsFunc(x.RequiredDuringSchedulingIgnoredDuringExecution, term) ||
		slices.ContainsFunc(x.PreferredDuringSchedulingIgnoredDuringExecution, weighted))
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
