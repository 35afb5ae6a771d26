package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
)

// emptyLabel stands, in a selector, for what an empty one means in the other
// version: no pods in the beta, all pods in v1.
const emptyLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

func formerBudgets() []kind.Version[*policyv1.PodDisruptionBudget] {
	out := kind.SameFields[*policyv1.PodDisruptionBudget]("v1beta1")
	out[0].Default = kind.DefaultOf(func(b *policyv1.PodDisruptionBudget) { fromBetaSelector(b.Spec.Selector) })
	return out
}

func fromBetaSelector(s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: emptyLabel, Operator: metav1.LabelSelectorOpExists}}
		return
	}
	s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == emptyLabel })
	delete(s.MatchLabels, emptyLabel)
}
