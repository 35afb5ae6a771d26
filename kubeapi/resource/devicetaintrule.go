package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/api/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
)

// taintRuleKind is kept as v1alpha3, which servers of 1.35 read.
func taintRuleKind() registry.Kind[*resourcev1beta2.DeviceTaintRule] {
	type rule = *resourcev1beta2.DeviceTaintRule
	const alpha3 = "resource.k8s.io/v1alpha3"
	gv := resourcev1beta2.SchemeGroupVersion
	return registry.Kind[rule]{
		Hub:            gv.WithKind("DeviceTaintRule"),
		Representation: registry.Typed[rule]{Versions: registry.SameFields[rule]("DeviceTaintRule", alpha3)},
		Names:          registry.Names{Plural: "devicetaintrules"},
		Write: registry.Write[rule]{
			Default: func(r rule) {
				if r.Spec.Taint.TimeAdded == nil {
					now := metav1.Now()
					r.Spec.Taint.TimeAdded = &now
				}
			},
			CountsGeneration: true,
			PrepareForUpdate: func(_ context.Context, r, old rule) {
				renewTimeAdded(&r.Spec.Taint, &old.Spec.Taint)
			},
			Validate:                 func(_ context.Context, r rule) field.ErrorList { return validateTaintRule(r) },
			ValidateUpdate:           func(_ context.Context, r, _ rule) field.ErrorList { return validateTaintRule(r) },
			AllowUnconditionalUpdate: true,
		},
		Delete: registry.Delete[rule]{ReturnsObject: true},
		Show: registry.Show[rule]{
			Columns: []registry.Column{show.Name(), show.Age()},
			Cells:   func(r rule, since func(metav1.Time) string) []any { return []any{r.Name, since(r.CreationTimestamp)} },
		},
		Status: &registry.StatusSubresource[rule]{
			ValidateUpdate: func(_ context.Context, r, _ rule) field.ErrorList {
				path := field.NewPath("status", "conditions")
				if n := len(r.Status.Conditions); n > resourcev1beta2.DeviceTaintRuleStatusMaxConditions {
					return field.ErrorList{field.TooMany(path, n, resourcev1beta2.DeviceTaintRuleStatusMaxConditions)}
				}
				return metavalidation.ValidateConditions(r.Status.Conditions, path)
			},
		},
	}
}

// renewTimeAdded sets the time of a taint whose effect has changed, unless the client gives another time than
// the taint had.
func renewTimeAdded(t, old *resourcev1beta2.DeviceTaint) {
	if t.Effect != old.Effect && t.TimeAdded.Equal(old.TimeAdded) {
		t.TimeAdded = ptr.To(metav1.Now())
	}
}

func validateTaintRule(r *resourcev1beta2.DeviceTaintRule) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if s := r.Spec.DeviceSelector; s != nil {
		at := path.Child("deviceSelector")
		if s.Driver != nil {
			errs = append(errs, validateDriver(*s.Driver, at.Child("driver"))...)
		}
		if s.Pool != nil {
			errs = append(errs, validatePool(*s.Pool, at.Child("pool"))...)
		}
		if s.Device != nil {
			errs = append(errs, check.Label(*s.Device, at.Child("device"))...)
		}
	}
	t := r.Spec.Taint
	return append(errs, validateTaint(&resourcev1.DeviceTaint{Key: t.Key, Value: t.Value,
		Effect: resourcev1.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded}, path.Child("taint"))...)
}
