package policy

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func disruptionBudgetKind() kind.Kind[*policyv1.PodDisruptionBudget] {
	return kind.Kind[*policyv1.PodDisruptionBudget]{
		Hub: v1.WithKind("PodDisruptionBudget"), Namespaced: true,
		Representation: kind.Typed[*policyv1.PodDisruptionBudget]{Former: formerBudgets(),
			MetadataOnUpdate: kind.MetadataOnce, MetadataOnStatus: kind.MetadataOnce},
		Names: kind.Names{
			Plural:     "poddisruptionbudgets",
			ShortNames: []string{"pdb"},
		},
		Write: kind.Write[*policyv1.PodDisruptionBudget]{
			CountsGeneration: true,
			Validate: func(_ context.Context, b *policyv1.PodDisruptionBudget) field.ErrorList {
				return validateSpec(&b.Spec, false)
			},
			ValidateUpdate: func(_ context.Context, b, old *policyv1.PodDisruptionBudget) field.ErrorList {
				return validateSpec(&b.Spec, old.Spec.Selector != nil &&
					metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector))
			},
		},
		Show: kind.Show[*policyv1.PodDisruptionBudget]{
			Columns: []kind.Column{
				show.Name(),
				show.Text("Min Available", "The minimum number of pods that must be available."),
				show.Text("Max Unavailable", "The maximum number of pods that may be unavailable."),
				show.Int("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
				show.Age(),
			},
			Cells: func(b *policyv1.PodDisruptionBudget, since func(metav1.Time) string) []any {
				return []any{b.Name, amount(b.Spec.MinAvailable), amount(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
					since(b.CreationTimestamp)}
			},
		},
		Status: &kind.StatusSubresource[*policyv1.PodDisruptionBudget]{
			ValidateUpdate: func(_ context.Context, b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
				return validateStatus(&b.Status, field.NewPath("status"))
			},
		},
	}
}

func amount(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
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

func validateStatus(s *policyv1.PodDisruptionBudgetStatus, path *field.Path) field.ErrorList {
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
