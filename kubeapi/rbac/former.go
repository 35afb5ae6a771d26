package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"

	"triplane.dev/generic/api/kind"
)

// formerRoles are the roles of the beta, which has the same fields, and of the
// alpha, whose rules are numbered in another way.
func formerRoles() []kind.Version[*rbacv1.Role] {
	return append(kind.SameFields[*rbacv1.Role]("Role", "rbac.authorization.k8s.io/v1beta1"),
		kind.VersionOf(rbacv1alpha1.SchemeGroupVersion.WithKind("Role"),
			func(old *rbacv1alpha1.Role) (*rbacv1.Role, error) {
				out := &rbacv1.Role{}
				return out, kind.CopyFields(old, out)
			}, nil))
}

func formerClusterRoles() []kind.Version[*rbacv1.ClusterRole] {
	return append(kind.SameFields[*rbacv1.ClusterRole]("ClusterRole", "rbac.authorization.k8s.io/v1beta1"),
		kind.VersionOf(rbacv1alpha1.SchemeGroupVersion.WithKind("ClusterRole"),
			func(old *rbacv1alpha1.ClusterRole) (*rbacv1.ClusterRole, error) {
				out := &rbacv1.ClusterRole{}
				return out, kind.CopyFields(old, out)
			}, nil))
}

func formerBindings() []kind.Version[*rbacv1.RoleBinding] {
	return append(kind.SameFields[*rbacv1.RoleBinding]("RoleBinding", "rbac.authorization.k8s.io/v1beta1"),
		kind.VersionOf(rbacv1alpha1.SchemeGroupVersion.WithKind("RoleBinding"),
			func(old *rbacv1alpha1.RoleBinding) (*rbacv1.RoleBinding, error) {
				out := &rbacv1.RoleBinding{}
				err := kind.CopyFields(old, out)
				out.Subjects = fromAlphaSubjects(old.Subjects)
				return out, err
			}, nil))
}

func formerClusterBindings() []kind.Version[*rbacv1.ClusterRoleBinding] {
	return append(kind.SameFields[*rbacv1.ClusterRoleBinding]("ClusterRoleBinding",
		"rbac.authorization.k8s.io/v1beta1"),
		kind.VersionOf(rbacv1alpha1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
			func(old *rbacv1alpha1.ClusterRoleBinding) (*rbacv1.ClusterRoleBinding, error) {
				out := &rbacv1.ClusterRoleBinding{}
				err := kind.CopyFields(old, out)
				out.Subjects = fromAlphaSubjects(old.Subjects)
				return out, err
			}, nil))
}

// fromAlphaSubjects leaves the API group to the defaults, which take it from the
// kind, as the alpha's version of the subject's API did. The user "*" of the alpha is
// every authenticated user.
func fromAlphaSubjects(old []rbacv1alpha1.Subject) []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, s := range old {
		subject := rbacv1.Subject{Kind: s.Kind, Name: s.Name, Namespace: s.Namespace}
		if s.Kind == rbacv1.UserKind && s.Name == "*" {
			subject.Kind, subject.Name = rbacv1.GroupKind, "system:authenticated"
		}
		out = append(out, subject)
	}
	return out
}
