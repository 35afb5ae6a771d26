package lifecycle

import (
	"context"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func evictionRequestKind() kind.Kind[*lifecyclev1alpha1.EvictionRequest] {
	type request = *lifecyclev1alpha1.EvictionRequest
	return kind.Kind[request]{
		Namespaced: true,
		Write: kind.Write[request]{
			CountsGeneration: true, ValidateName: anyName,
			Validate: validateRequest,
		},
		Columns: show.Columns(
			show.Field("Target", "spec.target.pod.name", ".spec.target"),
			show.Cell("Target Type", ".spec.target", targetType),
			show.Cell("Status", ".status.conditions", requestState),
			show.Path("spec.requester"), show.Path("spec.intent")),
		Status: &kind.Subresource[request]{
			Metadata: kind.ClientMetadata,
			Validate: func(_ context.Context, r, old request) field.ErrorList {
				return validateProgress(r.Status.Conditions, r.Status.ObservedGeneration, old.Status.ObservedGeneration)
			},
		},
	}
}

// state summarizes the conditions.
func state(conditions []metav1.Condition, observed *int64) string {
	for _, kind := range []lifecyclev1alpha1.EvictionConditionType{
		lifecyclev1alpha1.EvictionConditionTargetEvicted, lifecyclev1alpha1.EvictionConditionFailed,
	} {
		if c := meta.FindStatusCondition(conditions, string(kind)); c != nil && c.Status == metav1.ConditionTrue {
			return c.Type + " (" + c.Reason + ")"
		}
	}
	if observed != nil {
		return "Progressing"
	}
	return "Pending"
}

// validateRequest validates the spec of a request; old is nil for a new one.
func validateRequest(_ context.Context, r, old *lifecyclev1alpha1.EvictionRequest) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if old == nil {
		errs = validateName(r.Name)
	}
	if old == nil || check.Differs(s.Target, old.Spec.Target) {
		errs = append(errs, fixedOr(old != nil, path.Child("target"), func() field.ErrorList {
			return validateTarget((*lifecyclev1alpha1.EvictionPodReference)(s.Target.Pod), path.Child("target"))
		})...)
	}
	if old == nil || s.Requester != old.Spec.Requester {
		errs = append(errs, fixedOr(old != nil, path.Child("requester"), func() field.ErrorList {
			return check.ForeignKey(s.Requester, path.Child("requester"))
		})...)
		if old != nil && s.Requester == "" {
			errs = append(errs, field.Required(path.Child("requester"), ""))
		}
	}
	return append(errs, validateIntent(s.Intent, path.Child("intent"))...)
}

// fixedOr reports the change of a field that is fixed, or what is wrong with a new one.
func fixedOr(changed bool, path *field.Path, validate func() field.ErrorList) field.ErrorList {
	if changed {
		return field.ErrorList{field.Invalid(path, nil, check.ImmutableMsg)}
	}
	return validate()
}

func validateIntent[T ~string](intent T, path *field.Path) field.ErrorList {
	if intent == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return check.OneOf(intent, path, T(lifecyclev1alpha1.EvictionRequestIntentEviction),
		T(lifecyclev1alpha1.EvictionRequestIntentWithdrawn))
}

func targetType(*lifecyclev1alpha1.EvictionRequest) string { return "Pod" }

func requestState(r *lifecyclev1alpha1.EvictionRequest) string {
	return state(r.Status.Conditions, r.Status.ObservedGeneration)
}
