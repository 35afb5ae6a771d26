package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
)

func clusterRoleKind(g *guard) kind.Kind[*rbacv1.ClusterRole] {
	type role = *rbacv1.ClusterRole
	grants := grants[role]{
		grant: func(ctx context.Context, r, old role) error {
			return grantClusterRole(ctx, g, r, aggregates(r) || old != nil && aggregates(old))
		},
		same: func(r, old role) bool {
			return !check.Differs(r.Rules, old.Rules) && !check.Differs(r.AggregationRule, old.AggregationRule)
		},
	}
	return kind.Kind[role]{
		Representation: kind.Typed[role]{Former: formerClusterRoles()},
		Write: kind.Write[role]{
			ValidateName:        check.PathSegmentName,
			Validate:            kind.Whole(validateClusterRole),
			Begin:               grants.begin,
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
		},
	}
}

func aggregates(r *rbacv1.ClusterRole) bool {
	return r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
}

func grantClusterRole(ctx context.Context, g *guard, r *rbacv1.ClusterRole, collected bool) error {
	if err := g.grantRole(ctx, "clusterroles", r, r.Rules); err != nil || !collected {
		return err
	}
	if g.may(ctx, "escalate", "", "clusterroles", r.Name) {
		return nil
	}
	return g.grantAggregation(ctx, r.Name)
}

func validateClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := validateRules(r.Rules, false)
	if r.AggregationRule == nil {
		return errs
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		s := &r.AggregationRule.ClusterRoleSelectors[i]
		errs = append(errs, metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{},
			path.Index(i))...)
		if selector, err := metav1.LabelSelectorAsSelector(s); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), selector, "invalid label selector."))
		}
	}
	return check.DeclaredLast(errs)
}
