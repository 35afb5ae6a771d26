package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func taintRuleKind() kind.Kind[*resourcev1.DeviceTaintRule] {
	type rule = *resourcev1.DeviceTaintRule
	const alpha3 = "resource.k8s.io/v1alpha3"
	gv := resourcev1.SchemeGroupVersion
	return kind.Kind[rule]{
		Hub: gv.WithKind("DeviceTaintRule"),
		Representation: kind.Typed[rule]{MetadataOnUpdate: kind.MetadataChange,
			Versions: kind.SameFields[rule]("DeviceTaintRule", beta2, alpha3)},
		Names: kind.Names{Plural: "devicetaintrules"},
		Write: kind.Write[rule]{
			Default: func(r rule) {
				if r.Spec.Taint.TimeAdded == nil {
					now := metav1.Now().Rfc3339Copy() // as it is stored
					r.Spec.Taint.TimeAdded = &now
				}
			},
			CountsGeneration: true,
			PrepareForUpdate: func(_ context.Context, r, old rule) {
				renewTimeAdded(&r.Spec.Taint, &old.Spec.Taint)
			},
			Validate: func(ctx context.Context, r rule) field.ErrorList {
				return check.Declared[resourcev1.DeviceTaintRuleSpec]{Rules: resourcev1.Validate_DeviceTaintRuleSpec,
					Path:   field.NewPath("spec"),
					Object: &r.Spec}.Add(ctx, validateTaintRule(r))
			},
			ValidateUpdate: func(ctx context.Context, r, old rule) field.ErrorList {
				return check.Declared[resourcev1.DeviceTaintRuleSpec]{Rules: resourcev1.Validate_DeviceTaintRuleSpec,
					Path:   field.NewPath("spec"),
					Object: &r.Spec, Old: &old.Spec}.Add(ctx, validateTaintRule(r))
			},
		},
		Show: kind.Show[rule]{
			Columns: []kind.Column{
				show.Name(), show.Text("Key", show.Doc(resourcev1.DeviceTaint{}, "key")),
				show.Text("Value", show.Doc(resourcev1.DeviceTaint{}, "value")),
				show.Text("Effect", show.Doc(resourcev1.DeviceTaint{}, "effect")),
				show.Text("TimeAdded", show.Doc(resourcev1.DeviceTaint{}, "timeAdded")),
				show.Age(),
			},
			Cells: func(r rule, since func(metav1.Time) string) []any {
				added := "<unknown>"
				if t := r.Spec.Taint.TimeAdded; t != nil {
					added = since(*t)
				}
				return []any{r.Name, r.Spec.Taint.Key, r.Spec.Taint.Value, string(r.Spec.Taint.Effect), added,
					since(r.CreationTimestamp)}
			},
		},
		Status: &kind.StatusSubresource[rule]{
			Metadata: kind.ClientMetadata,
			ValidateUpdate: func(_ context.Context, r, _ rule) field.ErrorList {
				path := field.NewPath("status", "conditions")
				if n := len(r.Status.Conditions); n > resourcev1.DeviceTaintRuleStatusMaxConditions {
					return field.ErrorList{field.TooMany(path, n, resourcev1.DeviceTaintRuleStatusMaxConditions)}
				}
				return metavalidation.ValidateConditions(r.Status.Conditions, path)
			},
		},
	}
}

// renewTimeAdded sets the time of a taint whose effect has changed, unless the client gives another time than
// the taint had.
func renewTimeAdded(t, old *resourcev1.DeviceTaint) {
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
