package policy

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func disruptionBudgetKind() kind.Kind[*policyv1.PodDisruptionBudget] {
	type budget = *policyv1.PodDisruptionBudget
	return kind.Kind[budget]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"pdb"}},
		Representation: kind.Typed[budget]{Former: formerBudgets(),
			MetadataOnUpdate: kind.MetadataOnce, MetadataOnStatus: kind.MetadataOnce},
		Write: kind.Write[budget]{
			CountsGeneration: true,
			Validate: func(_ context.Context, b, old budget) field.ErrorList {
				return validateSpec(&b.Spec, old != nil && old.Spec.Selector != nil &&
					metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector))
			},
		},
		Columns: show.Columns(
			show.FieldOr("Min Available", "spec.minAvailable", "N/A", "The minimum number of pods that must be available."),
			show.FieldOr("Max Unavailable", "spec.maxUnavailable", "N/A",
				"The maximum number of pods that may be unavailable."),
			show.Field("Allowed Disruptions", "status.disruptionsAllowed",
				"Calculated number of pods that may be disrupted at this time.")),
		Status: &kind.Subresource[budget]{Validate: kind.Whole(validateStatus)},
	}
}

func validateSpec(s *policyv1.PodDisruptionBudgetSpec, allowInvalidValues bool) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, *s, "minAvailable and maxUnavailable cannot be both set"))
	}
	if v := s.MinAvailable; v != nil {
		errs = append(errs, check.NonNegativeIntOrPercent(*v, path.Child("minAvailable"))...)
		errs = append(errs, check.AtMost100Percent(*v, path.Child("minAvailable"))...)
	}
	if v := s.MaxUnavailable; v != nil {
		errs = append(errs, check.NonNegativeIntOrPercent(*v, path.Child("maxUnavailable"))...)
		errs = append(errs, check.AtMost100Percent(*v, path.Child("maxUnavailable"))...)
	}
	errs = append(errs, metavalidation.ValidateLabelSelector(s.Selector,
		metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: allowInvalidValues},
		path.Child("selector"))...)
	if p := s.UnhealthyPodEvictionPolicy; p != nil {
		errs = append(errs, check.OneOf(*p, path.Child("unhealthyPodEvictionPolicy"), policyv1.AlwaysAllow,
			policyv1.IfHealthyBudget)...)
	}
	return errs
}

func validateStatus(b *policyv1.PodDisruptionBudget) field.ErrorList {
	s, path := &b.Status, field.NewPath("status")
	errs := metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))
	for _, c := range []struct {
		name  string
		value int32
	}{{"disruptionsAllowed", s.DisruptionsAllowed}, {"currentHealthy", s.CurrentHealthy},
		{"desiredHealthy", s.DesiredHealthy}, {"expectedPods", s.ExpectedPods}} {
		errs = append(errs, check.NonNegative(int64(c.value), path.Child(c.name))...)
	}
	return errs
}
