package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func roleBindingKind(g *guard) kind.Kind[*rbacv1.RoleBinding] {
	validate := func(b *rbacv1.RoleBinding) field.ErrorList {
		return validateBinding(b.RoleRef, b.Subjects, true, "Role", "ClusterRole")
	}
	return kind.Kind[*rbacv1.RoleBinding]{
		Hub: v1.WithKind("RoleBinding"), Namespaced: true,
		Representation: kind.Typed[*rbacv1.RoleBinding]{Former: formerBindings()},
		Names:          kind.Names{Plural: "rolebindings"},
		Write: kind.Write[*rbacv1.RoleBinding]{
			ValidateName: check.PathSegmentName,
			Default:      func(b *rbacv1.RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) },
			Validate:     func(_ context.Context, b *rbacv1.RoleBinding) field.ErrorList { return validate(b) },
			ValidateUpdate: func(_ context.Context, b, old *rbacv1.RoleBinding) field.ErrorList {
				return append(validate(b), validateRoleRefUpdate(b.RoleRef, old.RoleRef)...)
			},
			BeginCreate: func(ctx context.Context, b *rbacv1.RoleBinding, _ bool) (func(context.Context, bool), error) {
				return done, g.grantBinding(ctx, "rolebindings", inNamespace(ctx, b), b.RoleRef)
			},
			BeginUpdate: func(ctx context.Context, b, old *rbacv1.RoleBinding, _ bool) (func(context.Context, bool), error) {
				same := b.RoleRef == old.RoleRef && !check.Differs(b.Subjects, old.Subjects)
				if metadataOnly(ctx, b, old, same) {
					return done, nil
				}
				return done, g.grantBinding(ctx, "rolebindings", inNamespace(ctx, b), b.RoleRef)
			},
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: true,
		},
		Show: kind.Show[*rbacv1.RoleBinding]{
			Columns: bindingColumns(show.Doc(rbacv1beta1.RoleBinding{}, "roleRef"), "roleBinding"),
			Cells: func(b *rbacv1.RoleBinding, since func(metav1.Time) string) []any {
				users, groups, accounts := bindingSubjects(b.Subjects)
				return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, since(b.CreationTimestamp), users, groups, accounts}
			},
		},
	}
}

// inNamespace fills in the namespace of the request where the object has none.
func inNamespace(ctx context.Context, b *rbacv1.RoleBinding) *rbacv1.RoleBinding {
	if b.Namespace == "" {
		b.Namespace = request.NamespaceFrom(ctx)
	}
	return b
}

func bindingColumns(roleDoc, binding string) []kind.Column {
	return []kind.Column{
		show.Name(),
		show.Text("Role", roleDoc),
		show.Age(),
		show.Wide(show.Text("Users", "Users in the "+binding)),
		show.Wide(show.Text("Groups", "Groups in the "+binding)),
		show.Wide(show.Text("ServiceAccounts", "ServiceAccounts in the "+binding)),
	}
}

func bindingSubjects(subjects []rbacv1.Subject) (users, groups, accounts string) {
	var u, g, a []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			u = append(u, s.Name)
		case rbacv1.GroupKind:
			g = append(g, s.Name)
		case rbacv1.ServiceAccountKind:
			a = append(a, s.Namespace+"/"+s.Name)
		}
	}
	return joined(u), joined(g), joined(a)
}
