package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
)

func roleKind(g *guard) kind.Kind[*rbacv1.Role] {
	return kind.Kind[*rbacv1.Role]{
		Hub: v1.WithKind("Role"), Namespaced: true,
		Representation: kind.Typed[*rbacv1.Role]{Former: formerRoles()},
		Names:          kind.Names{Plural: "roles"},
		Write: kind.Write[*rbacv1.Role]{
			ValidateName: check.PathSegmentName,
			Validate: func(_ context.Context, r *rbacv1.Role) field.ErrorList {
				return validateRules(r.Rules, true)
			},
			ValidateUpdate: func(_ context.Context, r, _ *rbacv1.Role) field.ErrorList {
				return validateRules(r.Rules, true)
			},
			BeginCreate: func(ctx context.Context, r *rbacv1.Role, _ bool) (func(context.Context, bool), error) {
				return done, g.grantRole(ctx, "roles", r, r.Rules)
			},
			BeginUpdate: func(ctx context.Context, r, old *rbacv1.Role, _ bool) (func(context.Context, bool), error) {
				if metadataOnly(ctx, r, old, !check.Differs(r.Rules, old.Rules)) {
					return done, nil
				}
				return done, g.grantRole(ctx, "roles", r, r.Rules)
			},
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: true,
		},
	}
}
