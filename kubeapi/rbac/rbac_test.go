package rbac

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/kubeapi/kindtest"
)

func TestDeclared(t *testing.T) {
	g := &guard{}
	kindtest.Declared(t, roleKind(g), "roles role Role namespaced")
	kindtest.Declared(t, clusterRoleKind(g), "clusterroles clusterrole ClusterRole cluster")
	kindtest.Declared(t, roleBindingKind(g), "rolebindings rolebinding RoleBinding namespaced")
	kindtest.Declared(t, clusterRoleBindingKind(g), "clusterrolebindings clusterrolebinding ClusterRoleBinding cluster")
}

func TestValidation(t *testing.T) {
	kindtest.Refused(t, roleKind(&guard{}), "rules: [{verbs: [get], nonResourceURLs: [/x]}, {}]",
		`rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs`,
		"rules[1].apiGroups: Required value: resource rules must supply at least one api group",
		"rules[1].resources: Required value: resource rules must supply at least one resource", "rules[1].verbs: Required value")
	kindtest.Refused(t, clusterRoleKind(&guard{}), "rules: [{resources: [a], apiGroups: [a]}]\naggregationRule: {}",
		"aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
		"rules[0].verbs: Required value")
	k := roleBindingKind(&guard{})
	kindtest.UpdateRefused(t, k, "roleRef: {kind: Role, name: a}", "roleRef: {kind: Role, name: b}",
		`roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"b"}: field is immutable`)
	kindtest.Refused(t, k, "roleRef: {kind: Role}\nsubjects: [{kind: User}, {kind: X, name: x}]",
		`subjects[1].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"`,
		"subjects[0].name: Required value", "roleRef.name: Required value")
	kindtest.UpdateRefused(t, k, "roleRef: {kind: Role, name: a}", "roleRef: {kind: Role}\nsubjects: [{kind: User}, {kind: X, name: x}]",
		"roleRef.name: Required value", `subjects[1].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"`,
		`roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":""}: field is immutable`,
		"subjects[0].name: Required value")
}

// holder may get pods, and nothing else.
type holder struct{}

func (holder) Authorize(context.Context, *authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.NoOpinion, "", nil
}

func (holder) RulesFor(context.Context, *user.Info, string) (resource, nonResource []authorizer.Rule, incomplete bool, err error) {
	return []authorizer.Rule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}, nil, false, nil
}

func TestEscalation(t *testing.T) {
	k := roleKind(&guard{authorizer: holder{}, rules: holder{}})
	role := func(verbs ...string) *rbacv1.Role {
		return &rbacv1.Role{Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	}
	ctx := request.WithUser(context.Background(), &user.Info{Name: "alice", Groups: []string{"devs"}})
	if _, err := k.Write.Begin(ctx, role("get"), nil, false); err != nil {
		t.Errorf("what she holds: %v", err)
	}
	_, err := k.Write.Begin(ctx, role("get", "delete"), nil, false)
	want := "user \"alice\" (groups=[\"devs\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	master := request.WithUser(ctx, &user.Info{Name: "root", Groups: []string{user.SystemPrivileged}})
	if _, err := k.Write.Begin(master, role("*"), nil, false); err != nil {
		t.Errorf("masters: %v", err)
	}
}
