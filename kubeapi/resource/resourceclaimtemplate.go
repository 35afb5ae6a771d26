package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/show"
)

func claimTemplateKind(stores *group.Stores) kind.Kind[*resourcev1.ResourceClaimTemplate] {
	type template = *resourcev1.ResourceClaimTemplate
	return kind.Kind[template]{
		Hub: v1.WithKind("ResourceClaimTemplate"), Namespaced: true,
		Representation: kind.Typed[template]{Versions: templateVersions()},
		Names:          kind.Names{Plural: "resourceclaimtemplates"},
		Write: kind.Write[template]{
			Default: func(t template) { defaultClaim(&t.Spec.Spec) },
			Validate: func(ctx context.Context, t template) field.ErrorList {
				// Administrators' access is refused as in the claim that comes of it.
				errs := validateAdminAccess(ctx, stores, &t.Spec.Spec, field.NewPath("spec"))
				return declaredTemplate(t, nil).Add(ctx, append(errs, validateTemplate(t)...))
			},
			ValidateUpdate: func(ctx context.Context, t, old template) field.ErrorList {
				errs := append(validateTemplate(t), check.Immutable(t.Spec, old.Spec, field.NewPath("spec"))...)
				return declaredTemplate(t, old).Add(ctx, errs)
			},
			AllowUnconditionalUpdate: true,
		},
		Delete: kind.Delete[template]{ReturnsObject: true},
		Show: kind.Show[template]{
			Columns: []kind.Column{show.Name(), show.Age()},
			Cells: func(t template, since func(metav1.Time) string) []any {
				return []any{t.Name, since(t.CreationTimestamp)}
			},
		},
	}
}

// declaredTemplate is what the markers of the Go types declare about a template that replaces old, nil for a new one.
func declaredTemplate(t, old *resourcev1.ResourceClaimTemplate) check.Declared[resourcev1.ResourceClaimTemplateSpec] {
	d := check.Declared[resourcev1.ResourceClaimTemplateSpec]{Rules: resourcev1.Validate_ResourceClaimTemplateSpec,
		Path: field.NewPath("spec"), Object: &t.Spec}
	if old != nil {
		d.Old = &old.Spec
	}
	return d
}

func validateTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	path := field.NewPath("spec")
	return append(check.TemplateMeta(&t.Spec.ObjectMeta, path.Child("metadata")),
		validateClaimSpec(&t.Spec.Spec, path.Child("spec"))...)
}
