package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"

	"triplane.dev/generic/api/kind"
)

// formerRoles are the roles of the beta, which has the same fields, and of the
// alpha, whose rules are numbered in another way.
func formerRoles() []kind.Version[*rbacv1.Role] {
	return append(kind.SameFields[*rbacv1.Role]("v1beta1"),
		kind.SimilarFields[*rbacv1.Role, rbacv1alpha1.Role](rbacv1alpha1.SchemeGroupVersion, nil, nil))
}

func formerClusterRoles() []kind.Version[*rbacv1.ClusterRole] {
	return append(kind.SameFields[*rbacv1.ClusterRole]("v1beta1"),
		kind.SimilarFields[*rbacv1.ClusterRole, rbacv1alpha1.ClusterRole](rbacv1alpha1.SchemeGroupVersion, nil, nil))
}

func formerBindings() []kind.Version[binding] {
	return append(kind.SameFields[binding]("v1beta1"), kind.SimilarFields(rbacv1alpha1.SchemeGroupVersion,
		func(old *rbacv1alpha1.RoleBinding, b binding) error {
			b.Subjects = fromAlphaSubjects(old.Subjects)
			return nil
		}, nil))
}

func formerClusterBindings() []kind.Version[*rbacv1.ClusterRoleBinding] {
	return append(kind.SameFields[*rbacv1.ClusterRoleBinding]("v1beta1"),
		kind.SimilarFields(rbacv1alpha1.SchemeGroupVersion,
			func(old *rbacv1alpha1.ClusterRoleBinding, b *rbacv1.ClusterRoleBinding) error {
				b.Subjects = fromAlphaSubjects(old.Subjects)
				return nil
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
