package webhook

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"

	"triplane.dev/generic/base/authorizer"
)

// addSelectors adds the selectors of a request to a review. Requirements that a review cannot express are
// omitted: the review is then about more objects, never fewer.
func addSelectors(r *authorizationv1.ResourceAttributes, a *authorizer.Attributes) {
	for _, f := range a.FieldSelector {
		operator := metav1.FieldSelectorOpIn
		switch f.Operator {
		case selection.Equals, selection.DoubleEquals:
		case selection.NotEquals:
			operator = metav1.FieldSelectorOpNotIn
		default:
			continue
		}
		if r.FieldSelector == nil {
			r.FieldSelector = &authorizationv1.FieldSelectorAttributes{}
		}
		r.FieldSelector.Requirements = append(r.FieldSelector.Requirements,
			metav1.FieldSelectorRequirement{Key: f.Field, Operator: operator, Values: []string{f.Value}})
	}
	for _, l := range a.LabelSelector {
		requirement := metav1.LabelSelectorRequirement{Key: l.Key(), Values: l.ValuesUnsorted()}
		switch l.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			requirement.Operator = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			requirement.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpExists, nil
		case selection.DoesNotExist:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpDoesNotExist, nil
		default:
			continue
		}
		if r.LabelSelector == nil {
			r.LabelSelector = &authorizationv1.LabelSelectorAttributes{}
		}
		r.LabelSelector.Requirements = append(r.LabelSelector.Requirements, requirement)
	}
}
