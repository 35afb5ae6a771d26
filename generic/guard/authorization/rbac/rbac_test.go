package rbac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/internal/worker"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1"}
}

func newRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: meta("n", name), Rules: rules}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: meta("", name), Rules: rules}
}

func bind(namespace, name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: meta(namespace, name), RoleRef: rbacv1.RoleRef{Kind: kind, Name: role}, Subjects: subjects}
}

func bindCluster(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", name), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: subjects}
}

func rule(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Split(verbs, ","), APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), ResourceNames: names}
}

func paths(urls ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: urls}
}

var (
	alice = rbacv1.Subject{Kind: "User", Name: "alice"}
	team  = rbacv1.Subject{Kind: "Group", Name: "team"}
)

func feed(a *Authorizer, objects ...runtime.Object) *Authorizer {
	for _, o := range objects {
		a.Set(o)
	}
	return a
}

func ask(name, verb, namespace, group, resource, sub, object string) *authorizer.Attributes {
	return &authorizer.Attributes{User: &user.Info{Name: name, Groups: []string{"team"}}, Verb: verb, Namespace: namespace,
		APIGroup: group, Resource: resource, Subresource: sub, Name: object, ResourceRequest: true}
}

func TestAuthorize(t *testing.T) {
	a := feed(New(),
		newRole("reader", rule("get,list", "", "pods,pods/log"), rule("get", "", "secrets", "a", "b"), rule("update", "*", "*/scale")),
		clusterRole("viewer", rule("get", "*", "nodes"), paths("/metrics", "/logs/*")),
		clusterRole("all", rule("*", "*", "*")),
		clusterRole("monitoring", paths("*")), clusterRole("backup", paths("/etcd/snapshot")),
		bindCluster("monitors", "monitoring", rbacv1.Subject{Kind: "User", Name: "prometheus"}),
		bindCluster("backups", "backup", rbacv1.Subject{Kind: "User", Name: "backup"}),
		bind("n", "b", "Role", "reader", alice),
		bind("m", "everything", "ClusterRole", "all", rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}),
		bind("m", "gone", "Role", "missing", team),
		bindCluster("view", "viewer", team),
	)
	for _, c := range []struct {
		attrs   *authorizer.Attributes
		allowed bool
		reason  string
	}{
		{ask("alice", "list", "n", "", "pods", "", ""), true, `RBAC: allowed by RoleBinding "b/n" of Role "reader" to User "alice"`},
		{ask("alice", "get", "n", "", "pods", "log", "p"), true, ""},
		{ask("alice", "get", "n", "", "pods", "exec", "p"), false, ""},
		{ask("alice", "delete", "n", "", "pods", "", "p"), false, ""},
		{ask("alice", "list", "", "", "pods", "", ""), false, ""},
		{ask("alice", "list", "n", "apps", "pods", "", ""), false, ""},
		{ask("alice", "list", "m", "", "pods", "", ""), false, `RBAC: role.rbac.authorization.k8s.io "missing" not found`},
		{ask("alice", "get", "n", "", "secrets", "", "b"), true, ""},
		{ask("alice", "get", "n", "", "secrets", "", "c"), false, ""},
		{ask("alice", "get", "n", "", "secrets", "", ""), false, ""},
		{ask("alice", "update", "n", "apps", "deployments", "scale", "d"), true, ""},
		{ask("alice", "update", "n", "apps", "deployments", "", "d"), false, ""},
		{ask("bob", "list", "n", "", "pods", "", ""), false, ""},
		{ask("bob", "get", "", "", "nodes", "", "x"), true, `RBAC: allowed by ClusterRoleBinding "view" of ClusterRole "viewer" to Group "team"`},
		{ask("bob", "get", "n", "", "nodes", "", "x"), true, ""},
		{ask("system:serviceaccount:m:sa", "delete", "m", "x", "y", "z", "w"), true, `RBAC: allowed by RoleBinding "everything/m" of ClusterRole "all" to ServiceAccount "sa/"`},
		{ask("system:serviceaccount:n:sa", "delete", "m", "x", "y", "z", "w"), false, `RBAC: role.rbac.authorization.k8s.io "missing" not found`},
		{&authorizer.Attributes{User: &user.Info{Name: "x", Groups: []string{"team"}}, Verb: "get", Path: "/metrics"}, true, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "x", Groups: []string{"team"}}, Verb: "get", Path: "/logs/a/b"}, true, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "x", Groups: []string{"team"}}, Verb: "get", Path: "/logs"}, false, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "x", Groups: []string{"team"}}, Verb: "post", Path: "/metrics"}, false, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "prometheus"}, Verb: "get", Path: "/metrics"}, true, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "prometheus"}, Verb: "get", Path: "/etcd/snapshot"}, false, ""},
		{&authorizer.Attributes{User: &user.Info{Name: "backup"}, Verb: "get", Path: "/etcd/snapshot"}, true, ""},
	} {
		decision, reason, err := a.Authorize(context.Background(), c.attrs)
		if (decision == authorizer.Allow) != c.allowed || err != nil || (c.reason != "" && reason != c.reason) {
			t.Errorf("%+v: %v %q %v, want %v %q", c.attrs, decision, reason, err, c.allowed, c.reason)
		}
	}
}

func TestChangesAreSeen(t *testing.T) {
	a := feed(New(), newRole("r", rule("get", "", "pods")), bind("n", "b", "Role", "r", alice, team))
	may := func(who string) bool {
		d, _, _ := a.Authorize(context.Background(), ask(who, "get", "n", "", "pods", "", "p"))
		return d == authorizer.Allow
	}
	if !may("alice") || !may("bob") {
		t.Fatal("not granted")
	}
	newer := bind("n", "b", "Role", "r", alice)
	newer.ResourceVersion = "3"
	a.SetRoleBinding(newer)
	older := bind("n", "b", "Role", "r", alice, team)
	older.ResourceVersion = "2"
	a.SetRoleBinding(older)
	if !may("alice") || may("bob") {
		t.Error("the newest version does not hold")
	}
	a.DeleteBinding("n", "b")
	if may("alice") || len(a.grants.own) != 0 || len(a.bindings.own) != 0 {
		t.Errorf("something is left: %v", a.grants)
	}
	feed(a, bind("n", "b", "Role", "r", alice))
	a.DeleteRole("n", "r")
	if may("alice") {
		t.Error("a deleted role grants")
	}
}

func TestRulesFor(t *testing.T) {
	a := feed(New(),
		clusterRole("z", rule("get", "", "z")), clusterRole("y", rule("get", "", "y"), paths("/y")), newRole("x", rule("get", "", "x")),
		bindCluster("2", "z", alice), bindCluster("1", "y", team, alice), bind("n", "0", "Role", "x", team),
	)
	who := &user.Info{Name: "alice", Groups: []string{"team"}}
	resource, nonResource, incomplete, err := a.RulesFor(context.Background(), who, "n")
	var got []string
	for _, r := range resource {
		got = append(got, r.Resources...)
	}
	if !reflect.DeepEqual(got, []string{"y", "z", "x"}) || len(nonResource) != 1 || incomplete || err != nil {
		t.Errorf("%v %v %v %v", resource, nonResource, incomplete, err)
	}
	feed(a, bind("n", "9", "Role", "none", alice))
	if rules, err := a.PolicyRules(who, "n"); len(rules) != 4 || err == nil {
		t.Errorf("%v %v", rules, err)
	}
	for _, c := range []struct {
		user, namespace string
		rules           int
		err             string
	}{
		{"alice", "n", 3, `role.rbac.authorization.k8s.io "none" not found`},
		{"alice", "m", 2, ""},
		{"bob", "n", 1, `[clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "none" not found]`},
		{"bob", "", 1, `clusterrole.rbac.authorization.k8s.io "none" not found`},
	} {
		feed(a, bindCluster("8", "none", rbacv1.Subject{Kind: "User", Name: "bob"}), bind("n", "7", "Role", "none", rbacv1.Subject{Kind: "User", Name: "bob"}),
			bindCluster("6", "z", rbacv1.Subject{Kind: "User", Name: "bob"}))
		who := &user.Info{Name: c.user}
		if c.user == "alice" {
			who.Groups = []string{"team"}
		}
		resource, _, incomplete, err := a.RulesFor(context.Background(), who, c.namespace)
		if incomplete || len(resource) != c.rules || fmt.Sprint(err) != cmp.Or(c.err, "<nil>") {
			t.Errorf("%s in %q: %v incomplete=%v %v", c.user, c.namespace, resource, incomplete, err)
		}
	}
	if _, err := a.RoleRules(rbacv1.RoleRef{Kind: "Role", Name: "none"}, "n"); err == nil || err.Error() != `role.rbac.authorization.k8s.io "none" not found` {
		t.Error(err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		owner, requested []rbacv1.PolicyRule
		missing          string
	}{
		{[]rbacv1.PolicyRule{rule("*", "*", "*")}, []rbacv1.PolicyRule{rule("get,list", "", "pods,secrets", "a")}, ""},
		{[]rbacv1.PolicyRule{rule("*", "*", "*")}, []rbacv1.PolicyRule{paths("/x")}, `{NonResourceURLs:["/x"], Verbs:["get"]}`},
		{[]rbacv1.PolicyRule{rule("get", "", "pods"), rule("list", "", "pods")}, []rbacv1.PolicyRule{rule("get,list", "", "pods")}, ""},
		{[]rbacv1.PolicyRule{rule("list", "", "pods", "a")}, []rbacv1.PolicyRule{rule("list", "", "pods")}, `{APIGroups:[""], Resources:["pods"], Verbs:["list"]}`},
		{[]rbacv1.PolicyRule{rule("list", "", "pods", "a")}, []rbacv1.PolicyRule{rule("list", "", "pods", "a", "b")}, `{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["list"]}`},
		{[]rbacv1.PolicyRule{rule("get", "", "*/scale")}, []rbacv1.PolicyRule{rule("get", "", "x/scale,x/status")}, `{APIGroups:[""], Resources:["x/status"], Verbs:["get"]}`},
		{[]rbacv1.PolicyRule{paths("*")}, []rbacv1.PolicyRule{paths("/etcd/snapshot")}, `{NonResourceURLs:["/etcd/snapshot"], Verbs:["get"]}`},
		{[]rbacv1.PolicyRule{paths("/a/*")}, []rbacv1.PolicyRule{paths("/a/b", "/a/*")}, ""},
		{nil, []rbacv1.PolicyRule{rule("get,delete", "", "pods"), rule("list", "", "secrets"), rule("get", "", "pods")},
			"{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"delete\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"list\"]}"},
	} {
		covered, missing := Covers(c.owner, c.requested)
		if covered != (c.missing == "") || Describe(missing) != c.missing {
			t.Errorf("%v by %v: %v %s, want %s", c.requested, c.owner, covered, Describe(missing), c.missing)
		}
	}
}

func BenchmarkAuthorize5000Bindings(b *testing.B) {
	a := New()
	for i := range 5000 {
		n := fmt.Sprint(i)
		feed(a, newRole(n, rule("get,list,watch", "", "pods,configmaps")), bind("n", n, "Role", n, rbacv1.Subject{Kind: "User", Name: n}))
	}
	attrs := ask("4321", "get", "n", "", "configmaps", "", "c")
	b.ReportAllocs()
	for b.Loop() {
		if d, _, _ := a.Authorize(context.Background(), attrs); d != authorizer.Allow {
			b.Fatal("refused")
		}
	}
}

func TestAwait(t *testing.T) {
	a, r, b := New(), newRole("r"), bind("n", "b", "Role", "r", alice)
	r.ResourceVersion, b.ResourceVersion = "5", "7"
	short, cancel := context.WithCancel(t.Context())
	cancel()
	for step, known := range []struct {
		set  func()
		want error
	}{
		{func() {}, context.Canceled},
		{func() { a.SetRole(r) }, context.Canceled},
		{func() { a.SetRoleBinding(bind("n", "b", "Role", "r", alice)) }, context.Canceled}, // an older one
		{func() { a.SetRoleBinding(b) }, nil},
	} {
		known.set()
		if err := a.Await(short, []metav1.Object{r, b}); !errors.Is(err, known.want) {
			t.Errorf("step %d: %v, want %v", step, err, known.want)
		}
	}

	later, done := clusterRole("later"), make(chan error, 1)
	worker.Go(func() { done <- a.Await(t.Context(), []metav1.Object{later}) })
	a.SetClusterRole(later)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Authorizers over the same one have its objects, and their own changes alone.
func TestOver(t *testing.T) {
	role := func(name, version string, verbs ...string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
			Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	}
	binding := func(name, role, version string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
			RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "u"}}}
	}
	ctx, end := context.WithCancel(t.Context())
	may := func(a *Authorizer, verb string) bool {
		d, _, _ := a.Authorize(ctx, &authorizer.Attributes{User: &user.Info{Name: "u"}, Verb: verb, ResourceRequest: true, Resource: "pods"})
		return d == authorizer.Allow
	}
	base := New()
	base.SetClusterRole(role("reader", "1", "get"))
	base.SetClusterRoleBinding(binding("readers", "reader", "1"))
	first, second := base.Over(), base.Over()
	first.SetClusterRole(role("reader", "1", "get")) // as informers deliver it
	first.SetClusterRoleBinding(binding("readers", "reader", "1"))
	if n := len(first.roles.own) + len(first.bindings.own) + len(first.grants.own); n != 0 {
		t.Errorf("it has %d objects that it shares", n)
	}
	end()
	if _, err := first.Admits(ctx, &user.Info{Name: "u"}); may(first, "get") || err == nil {
		t.Error("what may have been deleted allows a request")
	}
	first.useShared()
	second.useShared()
	first.SetClusterRole(role("writer", "5", "update"))
	first.SetClusterRoleBinding(binding("writers", "writer", "6"))
	second.SetClusterRole(role("deleter", "5", "delete"))
	second.SetClusterRoleBinding(binding("deleters", "deleter", "6"))
	for _, a := range []struct {
		name                string
		of                  *Authorizer
		get, update, delete bool
	}{{"first", first, true, true, false}, {"second", second, true, false, true}, {"base", base, true, false, false}} {
		if got := [...]bool{may(a.of, "get"), may(a.of, "update"), may(a.of, "delete")}; got != [...]bool{a.get, a.update, a.delete} {
			t.Errorf("%s may get, update and delete: %v", a.name, got)
		}
	}
	first.DeleteBinding("", "readers")
	first.SetClusterRole(role("writer", "7", "patch"))
	second.DeleteRole("", "reader")
	if may(first, "get") || may(first, "update") || !may(first, "patch") || may(second, "get") || !may(second, "delete") {
		t.Error("deletions and updates have no effect")
	}
	first.SetClusterRoleBinding(binding("readers", "reader", "8"))
	if !may(first, "get") || !may(base, "get") || !mustAdmit(t, base, &user.Info{Name: "u"}) {
		t.Error("what is created again has no effect, or the shared objects changed")
	}
}
