package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/user"
)

// mustAdmit returns Admits without its error.
func mustAdmit(t *testing.T, a *Authorizer, u *user.Info) bool {
	t.Helper()
	admitted, err := a.Admits(t.Context(), u)
	if err != nil {
		t.Error(err)
	}
	return admitted
}

// Bindings of the default policy to all users admit none; each other binding admits its subjects until it is deleted.
func TestAdmits(t *testing.T) {
	a := New()
	binding := func(name string, labels map[string]string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: subjects}
	}
	group := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name} }
	person := rbacv1.Subject{Kind: rbacv1.UserKind, Name: "alice"}
	defaults := map[string]string{defaultPolicyLabel: defaultPolicyValue}
	alice := &user.Info{Name: "alice", Groups: []string{"team", user.AllAuthenticated}}

	a.SetClusterRoleBinding(binding("default", defaults, group(user.AllAuthenticated), group(user.AllServiceAccounts)))
	if mustAdmit(t, a, alice) {
		t.Error("the default policy admits all users")
	}
	for name, b := range map[string]*rbacv1.ClusterRoleBinding{
		"her name":                    binding("b", nil, person),
		"her group":                   binding("b", nil, group("team")),
		"all users":                   binding("b", nil, group(user.AllAuthenticated)),
		"her name in a default one":   binding("b", defaults, group(user.AllAuthenticated), person),
		"her name twice, and a group": binding("b", nil, person, person, group("team")),
	} {
		a.SetClusterRoleBinding(b)
		if !mustAdmit(t, a, alice) {
			t.Errorf("%s does not admit her", name)
		}
		a.SetClusterRoleBinding(binding("b", nil, group("others")))
		if mustAdmit(t, a, alice) {
			t.Errorf("%s admits her after it was changed", name)
		}
	}
	a.SetRoleBinding(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b"}, Subjects: []rbacv1.Subject{person}})
	if !mustAdmit(t, a, alice) {
		t.Error("a binding in a namespace does not admit her")
	}
	a.DeleteBinding("n", "b")
	a.DeleteBinding("", "b")
	if mustAdmit(t, a, alice) || len(a.admitted.own) > 0 {
		t.Errorf("deleted bindings admit: %v", a.admitted)
	}
}
