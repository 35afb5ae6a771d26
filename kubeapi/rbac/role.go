package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
)

func roleKind(g *guard) kind.Kind[*rbacv1.Role] {
	type role = *rbacv1.Role
	grants := grants[role]{
		grant: func(ctx context.Context, r, _ role) error { return g.grantRole(ctx, "roles", r, r.Rules) },
		same:  func(r, old role) bool { return !check.Differs(r.Rules, old.Rules) },
	}
	return kind.Kind[role]{
		Namespaced:     true,
		Representation: kind.Typed[role]{Former: formerRoles()},
		Write: kind.Write[role]{
			ValidateName:        check.PathSegmentName,
			Validate:            kind.Whole(func(r role) field.ErrorList { return validateRules(r.Rules, true) }),
			Begin:               grants.begin,
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
		},
	}
}
