package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

type template = *resourcev1.ResourceClaimTemplate

func claimTemplateKind(stores *group.Stores) kind.Kind[template] {
	return kind.Kind[template]{
		Namespaced:     true,
		Representation: kind.Typed[template]{Versions: templateVersions()},
		Write: kind.Write[template]{
			Default: func(t template) { defaultClaim(&t.Spec.Spec) },
			Validate: check.Markers("Spec", resourcev1.Validate_ResourceClaimTemplateSpec,
				func(ctx context.Context, t, old template) field.ErrorList {
					path := field.NewPath("spec")
					if old != nil {
						return append(validateTemplate(t), check.Immutable(t.Spec, old.Spec, path)...)
					}
					// Administrators' access is refused as in the claim that comes of it.
					return append(validateAdminAccess(ctx, stores, &t.Spec.Spec, path), validateTemplate(t)...)
				}),
			AllowUnconditionalUpdate: kind.Always,
		},
		Delete:  kind.Delete[template]{ReturnsObject: true},
		Columns: show.Columns(),
	}
}

func validateTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	path := field.NewPath("spec")
	return append(check.TemplateMeta(&t.Spec.ObjectMeta, path.Child("metadata")),
		validateClaimSpec(&t.Spec.Spec, path.Child("spec"))...)
}
