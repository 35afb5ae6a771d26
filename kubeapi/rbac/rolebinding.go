package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/check"
)

type binding = *rbacv1.RoleBinding

func roleBindingKind(g *guard) kind.Kind[binding] {
	k := bindingKind(g, "rolebindings", func(b binding) binding { return b }, "Role", "ClusterRole")
	k.Namespaced, k.Representation = true, kind.Typed[binding]{Former: formerBindings()}
	k.Columns = bindingColumns(show.Doc(rbacv1beta1.RoleBinding{}, "roleRef"), "roleBinding")
	return k
}

func clusterRoleBindingKind(g *guard) kind.Kind[*rbacv1.ClusterRoleBinding] {
	k := bindingKind(g, "clusterrolebindings", func(b *rbacv1.ClusterRoleBinding) binding { return binding(b) },
		"ClusterRole")
	k.Representation = kind.Typed[*rbacv1.ClusterRoleBinding]{Former: formerClusterBindings()}
	k.Columns = bindingColumns(show.Doc(rbacv1beta1.ClusterRoleBinding{}, "roleRef"), "clusterRoleBinding")
	return k
}

// bindingKind is what both kinds of bindings have in common. as returns a binding as one in a namespace, which has the
// same fields; roles are the kinds of roles that it may name.
func bindingKind[T bound](g *guard, plural string, as func(T) binding, roles ...string) kind.Kind[T] {
	namespaced := len(roles) > 1
	grants := grants[T]{
		grant: func(ctx context.Context, obj, _ T) error {
			b := as(obj)
			if namespaced && b.Namespace == "" {
				b.Namespace = request.NamespaceFrom(ctx)
			}
			return g.grantBinding(ctx, plural, b, b.RoleRef)
		},
		same: func(obj, old T) bool {
			return as(obj).RoleRef == as(old).RoleRef && !check.Differs(as(obj).Subjects, as(old).Subjects)
		},
	}
	return kind.Kind[T]{
		Write: kind.Write[T]{
			ValidateName: check.PathSegmentName,
			Default:      func(b T) { defaultBinding(&as(b).RoleRef, as(b).Subjects) },
			Validate: func(_ context.Context, obj, before T) field.ErrorList {
				b, old := as(obj), as(before)
				if old == nil {
					return validateBinding(b.RoleRef, b.Subjects, namespaced, roles...)
				}
				return bindingUpdate{b.RoleRef, old.RoleRef, b.Subjects}.validate(namespaced, roles...)
			},
			Begin:               grants.begin,
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
		},
		Show: kind.Show[T]{Cells: func(b T, _ func(metav1.Time) string) []any { return bindingCells(as(b)) }},
	}
}

func bindingColumns(roleDoc, binding string) []kind.Column {
	return show.Columns(show.Text("Role", roleDoc), show.Wide(show.Text("Users", "Users in the "+binding)),
		show.Wide(show.Text("Groups", "Groups in the "+binding)),
		show.Wide(show.Text("ServiceAccounts", "ServiceAccounts in the "+binding)))
}

func bindingCells(b binding) []any {
	var u, g, a []string
	for _, s := range b.Subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			u = append(u, s.Name)
		case rbacv1.GroupKind:
			g = append(g, s.Name)
		case rbacv1.ServiceAccountKind:
			a = append(a, s.Namespace+"/"+s.Name)
		}
	}
	return []any{b.RoleRef.Kind + "/" + b.RoleRef.Name, joined(u), joined(g), joined(a)}
}
