package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

func validatePodFailurePolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if s.PodFailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	rules := s.PodFailurePolicy.Rules
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path.Child("rules"), len(rules), maxRules))
	}
	containers := map[string]bool{}
	for _, c := range append(append([]corev1.Container{}, s.Template.Spec.Containers...),
		s.Template.Spec.InitContainers...) {
		containers[c.Name] = true
	}
	for i := range rules {
		errs = append(errs, validateFailureRule(s, &rules[i], containers, path.Child("rules").Index(i))...)
	}
	return errs
}

func validateFailureRule(s *batchv1.JobSpec, r *batchv1.PodFailurePolicyRule, containers map[string]bool,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount,
		batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	switch {
	case r.Action == "":
		errs = append(errs, field.Required(path.Child("action"), fmt.Sprintf("valid values: %q", actions)))
	case r.Action == batchv1.PodFailurePolicyActionFailIndex && s.BackoffLimitPerIndex == nil:
		errs = append(errs, field.Invalid(path.Child("action"), r.Action, "requires the backoffLimitPerIndex to be set"))
	default:
		errs = append(errs, check.OneOf(r.Action, path.Child("action"), actions...)...)
	}
	if r.OnExitCodes != nil {
		errs = append(errs, validateExitCodes(r.OnExitCodes, containers, path.Child("onExitCodes"))...)
	}
	if len(r.OnPodConditions) > 0 {
		errs = append(errs, validatePodConditions(r.OnPodConditions, path.Child("onPodConditions"))...)
	}
	switch {
	case r.OnExitCodes != nil && len(r.OnPodConditions) > 0:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying both OnExitCodes and OnPodConditions is not supported"))
	case r.OnExitCodes == nil && len(r.OnPodConditions) == 0:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func validateExitCodes(r *batchv1.PodFailurePolicyOnExitCodesRequirement, containers map[string]bool,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	if r.Operator == "" {
		errs = append(errs, field.Required(path.Child("operator"), fmt.Sprintf("valid values: %q", operators)))
	} else {
		errs = append(errs, check.OneOf(r.Operator, path.Child("operator"), operators...)...)
	}
	if r.ContainerName != nil && !containers[*r.ContainerName] {
		errs = append(errs, field.Invalid(path.Child("containerName"), *r.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	values := path.Child("values")
	if len(r.Values) == 0 {
		errs = append(errs, field.Invalid(values, r.Values, "at least one value is required"))
	} else if len(r.Values) > maxExitCodes {
		errs = append(errs, field.TooMany(values, len(r.Values), maxExitCodes))
	}
	ordered, seen := true, map[int32]bool{}
	for i, v := range r.Values {
		if v == 0 && r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			errs = append(errs, field.Invalid(values.Index(i), v, "must not be 0 for the In operator"))
		}
		if seen[v] {
			errs = append(errs, field.Duplicate(values.Index(i), v))
		}
		seen[v] = true
		ordered = ordered && (i == 0 || r.Values[i-1] <= v)
	}
	if !ordered {
		errs = append(errs, field.Invalid(values, r.Values, "must be ordered"))
	}
	return errs
}

func validatePodConditions(cs []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(cs) > maxConditions {
		errs = append(errs, field.TooMany(path, len(cs), maxConditions))
	}
	for i, c := range cs {
		errs = append(errs, check.QualifiedName(string(c.Type), path.Index(i).Child("type"))...)
		status := path.Index(i).Child("status")
		if c.Status == "" {
			errs = append(errs, field.Required(status, fmt.Sprintf("valid values: %q", check.ConditionStatuses())))
		} else {
			errs = append(errs, check.OneOf(c.Status, status, check.ConditionStatuses()...)...)
		}
	}
	return errs
}

func validateSuccessPolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	p := s.SuccessPolicy
	if p == nil {
		return nil
	}
	if !indexed(s) {
		return field.ErrorList{field.Invalid(path, *p, "requires indexed completion mode")}
	}
	var errs field.ErrorList
	rules := path.Child("rules")
	if len(p.Rules) == 0 {
		errs = append(errs, field.Required(rules, "at least one rules must be specified when the successPolicy is specified"))
	}
	if len(p.Rules) > maxRules {
		errs = append(errs, field.TooMany(rules, len(p.Rules), maxRules))
	}
	for i := range p.Rules {
		errs = append(errs, validateSuccessRule(s, &p.Rules[i], rules.Index(i))...)
	}
	return errs
}

func validateSuccessRule(s *batchv1.JobSpec, r *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.SucceededCount == nil && r.SucceededIndexes == nil {
		errs = append(errs, field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	var total int32
	counted := false
	if text := r.SucceededIndexes; text != nil && s.Completions != nil {
		indexes := path.Child("succeededIndexes")
		if len(*text) > maxSucceededIndexes {
			errs = append(errs, field.TooLong(indexes, "", maxSucceededIndexes))
		}
		var err error
		if _, total, err = parseIndexes(*text, *s.Completions); err != nil {
			total = 0
			errs = append(errs, field.Invalid(indexes, *text, fmt.Sprintf("error parsing succeededIndexes: %s", err)))
		}
		counted = true
	}
	if n := r.SucceededCount; n != nil {
		count := path.Child("succeededCount")
		errs = append(errs, check.NonNegative(int64(*n), count)...)
		if s.Completions != nil && *n > *s.Completions {
			errs = append(errs, field.Invalid(count, *n,
				fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", *s.Completions)))
		}
		if counted && *n > total {
			errs = append(errs, field.Invalid(count, *n,
				fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)",
					total)))
		}
	}
	return errs
}
