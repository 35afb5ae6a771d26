package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func taintRuleKind() kind.Kind[*resourcev1.DeviceTaintRule] {
	type rule = *resourcev1.DeviceTaintRule
	return kind.Kind[rule]{
		Representation: kind.Typed[rule]{MetadataOnUpdate: kind.MetadataChange,
			Versions: kind.SameFields[rule](beta2, "v1alpha3")},
		Write: kind.Write[rule]{
			Default:                  defaultTaintRule,
			CountsGeneration:         true,
			AllowUnconditionalUpdate: overwrites,
			Prepare:                  renewTimeAdded,
			Validate: check.Markers("Spec", resourcev1.Validate_DeviceTaintRuleSpec,
				kind.Whole(validateTaintRule)),
		},
		Delete: kind.Delete[rule]{ReturnsObject: true, StatusIn: []string{v1.Version}},
		Columns: show.Columns(show.Path("spec.taint.key"), show.Path("spec.taint.value"),
			show.Path("spec.taint.effect"), show.Path("spec.taint.timeAdded")),
		Status: &kind.Subresource[rule]{Metadata: kind.ClientMetadata, Validate: kind.Whole(validateTaintRuleStatus)},
	}
}

// overwrites is true for the versions before v1.
func overwrites(version string) bool { return version != v1.Version }

func defaultTaintRule(r *resourcev1.DeviceTaintRule) {
	if r.Spec.Taint.TimeAdded == nil {
		r.Spec.Taint.TimeAdded = ptr.To(metav1.Now().Rfc3339Copy()) // as it is stored
	}
}

func validateTaintRuleStatus(r *resourcev1.DeviceTaintRule) field.ErrorList {
	path := field.NewPath("status", "conditions")
	if n := len(r.Status.Conditions); n > resourcev1.DeviceTaintRuleStatusMaxConditions {
		return field.ErrorList{field.TooMany(path, n, resourcev1.DeviceTaintRuleStatusMaxConditions)}
	}
	return metavalidation.ValidateConditions(r.Status.Conditions, path)
}

// renewTimeAdded sets the time of a taint whose effect has changed, unless the client gives another time than
// the taint had.
func renewTimeAdded(_ context.Context, r, stored *resourcev1.DeviceTaintRule) {
	if stored == nil {
		return
	}
	t, old := &r.Spec.Taint, &stored.Spec.Taint
	if t.Effect != old.Effect && t.TimeAdded.Equal(old.TimeAdded) {
		t.TimeAdded = ptr.To(metav1.Now())
	}
}

func validateTaintRule(r *resourcev1.DeviceTaintRule) field.ErrorList {
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
	return append(errs, validateTaint(&r.Spec.Taint, path.Child("taint"))...)
}
