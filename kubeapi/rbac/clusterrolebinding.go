package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func clusterRoleBindingKind(g *guard) kind.Kind[*rbacv1.ClusterRoleBinding] {
	validate := func(b *rbacv1.ClusterRoleBinding) field.ErrorList {
		return validateBinding(b.RoleRef, b.Subjects, false, "ClusterRole")
	}
	return kind.Kind[*rbacv1.ClusterRoleBinding]{
		Hub:            v1.WithKind("ClusterRoleBinding"),
		Representation: kind.Typed[*rbacv1.ClusterRoleBinding]{Former: formerClusterBindings()},
		Names:          kind.Names{Plural: "clusterrolebindings"},
		Write: kind.Write[*rbacv1.ClusterRoleBinding]{
			ValidateName: check.PathSegmentName,
			Default:      func(b *rbacv1.ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) },
			Validate:     func(_ context.Context, b *rbacv1.ClusterRoleBinding) field.ErrorList { return validate(b) },
			ValidateUpdate: func(_ context.Context, b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
				return append(validate(b), validateRoleRefUpdate(b.RoleRef, old.RoleRef)...)
			},
			BeginCreate: func(ctx context.Context, b *rbacv1.ClusterRoleBinding, _ bool) (func(context.Context, bool), error) {
				return done, g.grantBinding(ctx, "clusterrolebindings", b, b.RoleRef)
			},
			BeginUpdate: func(ctx context.Context, b, old *rbacv1.ClusterRoleBinding,
				_ bool) (func(context.Context, bool), error) {
				same := b.RoleRef == old.RoleRef && !check.Differs(b.Subjects, old.Subjects)
				if metadataOnly(ctx, b, old, same) {
					return done, nil
				}
				return done, g.grantBinding(ctx, "clusterrolebindings", b, b.RoleRef)
			},
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: true,
		},
		Show: kind.Show[*rbacv1.ClusterRoleBinding]{
			Columns: bindingColumns(show.Doc(rbacv1beta1.ClusterRoleBinding{}, "roleRef"), "clusterRoleBinding"),
			Cells: func(b *rbacv1.ClusterRoleBinding, since func(metav1.Time) string) []any {
				users, groups, accounts := bindingSubjects(b.Subjects)
				return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, since(b.CreationTimestamp), users, groups, accounts}
			},
		},
	}
}
