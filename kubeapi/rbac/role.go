package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
)

func roleKind(g *guard) kind.Kind[*rbacv1.Role] {
	grants := grants[*rbacv1.Role]{
		grant: func(ctx context.Context, r, _ *rbacv1.Role) error { return g.grantRole(ctx, "roles", r, r.Rules) },
		same:  func(r, old *rbacv1.Role) bool { return !check.Differs(r.Rules, old.Rules) },
	}
	return kind.Kind[*rbacv1.Role]{
		Hub: v1.WithKind("Role"), Namespaced: true,
		Representation: kind.Typed[*rbacv1.Role]{Former: formerRoles()},
		Names:          kind.Names{Plural: "roles"},
		Write: kind.Write[*rbacv1.Role]{
			ValidateName: check.PathSegmentName,
			Validate: kind.Whole(func(r *rbacv1.Role) field.ErrorList {
				return validateRules(r.Rules, true)
			}),
			Begin:               grants.begin,
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: true,
		},
	}
}
