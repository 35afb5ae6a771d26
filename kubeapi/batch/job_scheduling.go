package batch

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

const maxSchedulingClaims = 4

// validateScheduling validates how the pods of a Job are scheduled together (WorkloadWithJob), but for the rules of
// declaredScheduling.
func validateScheduling(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	c := s.Scheduling
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	policy := ptr.Deref(c.SchedulingPolicy, schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy{})
	if gang := policy.Gang; gang != nil && s.Parallelism != nil {
		if n := ptr.Deref(gang.MinCount, 0); n > *s.Parallelism {
			errs = append(errs, field.Invalid(path.Child("schedulingPolicy", "gang", "minCount"), n,
				fmt.Sprintf("must not be greater than parallelism (%d)", *s.Parallelism)))
		}
	}
	basic := policy.Gang == nil || policy.Basic != nil
	if m := c.DisruptionMode; m != nil && m.All != nil && m.Single == nil && basic {
		errs = append(errs, field.Invalid(path.Child("disruptionMode"), "",
			"the disruptionMode `all` is not supported with the Basic scheduling policy"))
	}
	return errs
}

// validateSchedulingVariant refuses that a Job changes between the policies basic and gang.
func validateSchedulingVariant(s, old *batchv1.JobSchedulingConfiguration, path *field.Path) field.ErrorList {
	if s == nil || old == nil || s.SchedulingPolicy == nil || old.SchedulingPolicy == nil {
		return nil
	}
	now, was := s.SchedulingPolicy, old.SchedulingPolicy
	if (now.Basic != nil) == (was.Basic != nil) || (now.Gang != nil) == (was.Gang != nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("schedulingPolicy"), nil, "the basic/gang policy variant is "+
		"immutable after creation; only schedulingPolicy.gang.minCount may be updated")}
}

// declaredScheduling validates by the markers of the fields, for which k8s.io/api generates nothing in batch/v1. A
// nil oldSpec is that of a new object.
func declaredScheduling(spec, oldSpec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	s, old := spec.Scheduling, &batchv1.JobSchedulingConfiguration{}
	update := oldSpec != nil
	if update {
		if errs, once := setOnce(s != nil, oldSpec.Scheduling != nil, path); !once {
			return errs
		}
		old = oldSpec.Scheduling
	}
	if s == nil {
		return nil
	}
	errs := declaredPolicy(s.SchedulingPolicy, old.SchedulingPolicy, update, path.Child("schedulingPolicy"))
	errs = append(errs, declaredPart(schedulingv1alpha3.Validate_WorkloadPodGroupSchedulingConstraints,
		s.SchedulingConstraints, old.SchedulingConstraints, update, path.Child("schedulingConstraints"))...)
	errs = append(errs, declaredPart(schedulingv1alpha3.Validate_WorkloadPodGroupDisruptionMode, s.DisruptionMode,
		old.DisruptionMode, update, path.Child("disruptionMode"))...)
	return append(errs, declaredClaims(s.ResourceClaims, old.ResourceClaims, update, path.Child("resourceClaims"))...)
}

func declaredPolicy(p, old *schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy, update bool,
	path *field.Path) field.ErrorList {
	if update {
		if errs, once := setOnce(p != nil, old != nil, path); !once {
			return errs
		}
	}
	if p == nil {
		return nil
	}
	return declared(schedulingv1alpha3.Validate_WorkloadPodGroupSchedulingPolicy, p, old, path)
}

// setOnce refuses to set or clear a field in an update. It returns false if that is so.
func setOnce(set, was bool, path *field.Path) (field.ErrorList, bool) {
	switch {
	case set && !was:
		return field.ErrorList{field.Invalid(path, nil, "field cannot be set once created")}, false
	case !set && was:
		return field.ErrorList{field.Invalid(path, nil, "field cannot be cleared once set")}, false
	}
	return nil, set
}

// declaredPart validates a part that updates cannot change.
func declaredPart[T any](rules check.Rules[T], part, old *T, update bool, path *field.Path) field.ErrorList {
	switch {
	case update && !equality.Semantic.DeepEqual(part, old):
		return field.ErrorList{field.Invalid(path, nil, "field is immutable")}
	case update || part == nil:
		return nil
	}
	return declared(rules, part, nil, path)
}

func declaredClaims(claims, old []schedulingv1alpha3.WorkloadPodGroupResourceClaim, update bool,
	path *field.Path) field.ErrorList {
	switch {
	case update && !equality.Semantic.DeepEqual(claims, old):
		return field.ErrorList{field.Invalid(path, nil, "field is immutable")}
	case update:
		return nil
	case len(claims) > maxSchedulingClaims:
		return field.ErrorList{field.TooMany(path, len(claims), maxSchedulingClaims)}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range claims {
		if seen[claims[i].Name] {
			errs = append(errs, field.Duplicate(path.Index(i), claims[i]))
		}
		seen[claims[i].Name] = true
	}
	for i := range claims {
		errs = append(errs, declared(schedulingv1alpha3.Validate_WorkloadPodGroupResourceClaim, &claims[i], nil,
			path.Index(i))...)
	}
	return errs
}

func declared[T any](rules check.Rules[T], part, old *T, path *field.Path) field.ErrorList {
	return check.Declared[T]{Rules: rules, Path: path, Object: part, Old: old}.Add(context.Background(), nil)
}
