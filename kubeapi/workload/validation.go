package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

// Selector validates a selector of pods, which has to be there and to select
// something. kind names the kind in the message.
func Selector(s *metav1.LabelSelector, kind string, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path)
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+kind))
	}
	return errs
}

// Selected refuses a selector that does not select the pods made from a template.
// path is that of the template.
func Selected(s labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if s.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), template.Labels,
		"`selector` does not match template `labels`")}
}

// AlwaysRestarted refuses a template, at path, whose pods end by themselves. kind
// names the kind in the message.
func AlwaysRestarted(t *corev1.PodTemplateSpec, kind string, path *field.Path) field.ErrorList {
	errs := check.OneOf(t.Spec.RestartPolicy, path.Child("spec", "restartPolicy"), corev1.RestartPolicyAlways)
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+
			" is not Supported"))
	}
	return errs
}

// NamedCount is a count in a status, with the name of its field.
type NamedCount struct {
	name  string
	value int64
}

// Count returns a count for Counts.
func Count[N ~int32 | ~int64](name string, value N) NamedCount {
	return NamedCount{name: name, value: int64(value)}
}

// Counts refuses counts below zero. path is that of the status.
func Counts(path *field.Path, counts ...NamedCount) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		errs = append(errs, check.NonNegative(c.value, path.Child(c.name))...)
	}
	return errs
}

// NotAbove refuses a count above another, which limitName names in the message.
func NotAbove(value, limit int32, path *field.Path, limitName string) field.ErrorList {
	if value <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "cannot be greater than "+limitName)}
}

// NotDecremented refuses a collision count that goes down or away.
func NotDecremented(value, old *int32, path *field.Path) field.ErrorList {
	if old == nil || (value != nil && *value >= *old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, ptr.Deref(value, 0), "cannot be decremented")}
}
