package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
)

var v1 = appsv1.SchemeGroupVersion

func kind(name string) schema.GroupVersionKind { return v1.WithKind(name) }

// setDefault points p to v where it points nowhere.
func setDefault[V any](p **V, v V) {
	if *p == nil {
		*p = ptr.To(v)
	}
}

func percentOrNumber(s string) intstr.IntOrString { return intstr.FromString(s) }

// validateSelector validates the selector of pods, which is required and not empty.
func validateSelector(s *metav1.LabelSelector, kind string, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := spec.Child("selector")
	if s == nil {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path)...)
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+kind))
		}
	}
	return errs
}

// mismatch says that a selector does not select the pods of its own template.
func mismatch(t *corev1.PodTemplateSpec, spec *field.Path) *field.Error {
	return field.Invalid(spec.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
}

// validatePodsRunForEver is for kinds whose pods are restarted whatever happens.
func validatePodsRunForEver(t *corev1.PodTemplateSpec, kind string, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := spec.Child("template", "spec")
	if p := t.Spec.RestartPolicy; p != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), p, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// notAbove refuses a count above another.
func notAbove(value, limit int32, path *field.Path, limitName string) field.ErrorList {
	if value <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "cannot be greater than "+limitName)}
}

// notDecremented refuses a collision count that goes down or away.
func notDecremented(value, old *int32, path *field.Path) field.ErrorList {
	if old == nil || (value != nil && *value >= *old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, ptr.Deref(value, 0), "cannot be decremented")}
}

// count is a status count by its field's name.
type count struct {
	name  string
	value int64
}

func nonNegativeCounts(path *field.Path, counts ...count) field.ErrorList {
	var errs field.ErrorList
	for _, c := range counts {
		errs = append(errs, check.NonNegative(c.value, path.Child(c.name))...)
	}
	return errs
}

// before returns the template of the old object, nil when there is none.
func before[T any](old *T, template func(*T) *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if old == nil {
		return nil
	}
	return template(old)
}

func containerColumns() []registry.Column {
	return []registry.Column{
		show.Wide(show.Text("Containers", "Names of each container in the template.")),
		show.Wide(show.Text("Images", "Images referenced by each container in the template.")),
	}
}

func selectorColumn(doc string) registry.Column { return show.Wide(show.Text("Selector", doc)) }

// scaleSelector is the selector as a Scale shows it.
func scaleSelector(s *metav1.LabelSelector) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", err
	}
	return selector.String(), nil
}
