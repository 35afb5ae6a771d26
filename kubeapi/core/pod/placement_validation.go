package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

// tighterPlacement lets what says where a gated pod may run only grow.
func tighterPlacement(p, old pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for k, v := range old.Spec.NodeSelector {
		if now, ok := p.Spec.NodeSelector[k]; !ok || now != v {
			errs = append(errs, field.Invalid(path.Child("nodeSelector"), p.Spec.NodeSelector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	now, before := requiredTerms(&p.Spec), requiredTerms(&old.Spec)
	terms := path.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	switch {
	case len(before) == 0:
	case len(now) != len(before):
		errs = append(errs, field.Invalid(terms, now,
			"no additions/deletions to non-empty NodeSelectorTerms list are allowed"))
	default:
		for i := range before {
			if !onlyAdds(&now[i], &before[i]) {
				errs = append(errs, field.Invalid(terms.Index(i), now[i], "only additions are allowed (no mutations or deletions)"))
			}
		}
	}
	return errs
}

func nodeAffinity(s *corev1.PodSpec) *corev1.NodeAffinity {
	if s.Affinity == nil {
		return nil
	}
	return s.Affinity.NodeAffinity
}

func requiredTerms(s *corev1.PodSpec) []corev1.NodeSelectorTerm {
	if n := nodeAffinity(s); n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// onlyAdds reports whether a term has all that it had before, and maybe more
// behind it. A term that was empty matches nothing, and has to stay so.
func onlyAdds(now, before *corev1.NodeSelectorTerm) bool {
	if len(before.MatchExpressions)+len(before.MatchFields) == 0 {
		return len(now.MatchExpressions)+len(now.MatchFields) == 0
	}
	return startsWith(now.MatchExpressions, before.MatchExpressions) && startsWith(now.MatchFields, before.MatchFields)
}

func startsWith(now, before []corev1.NodeSelectorRequirement) bool {
	return len(now) >= len(before) && !check.Differs(now[:len(before)], before)
}

// keepNodeAffinity puts the node affinity of before into s, so that only what
// else differs is left.
func keepNodeAffinity(s, before *corev1.PodSpec) {
	old := nodeAffinity(before)
	switch a := s.Affinity; {
	case a == nil && old == nil:
	case a == nil:
		s.Affinity = &corev1.Affinity{NodeAffinity: old}
	case before.Affinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		s.Affinity = nil
	default:
		a.NodeAffinity = old
	}
}
