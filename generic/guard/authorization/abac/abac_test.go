package abac

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

func read(t *testing.T, text string) (Authorizer, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policies")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(file)
}

func line(spec string) string {
	return `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{` + spec + "}}\n"
}

func TestAuthorize(t *testing.T) {
	a, err := read(t, "# comment\n\n"+
		line(`"user":"alice","namespace":"n","resource":"pods","apiGroup":""`)+
		line(`"group":"readers","readonly":true,"namespace":"*","resource":"*","apiGroup":"*"`)+
		line(`"user":"*","nonResourcePath":"/logs/*","readonly":true`)+
		line(`"user":"bob","group":"ops","namespace":"*","resource":"*","apiGroup":"*"`)+
		line(`"namespace":"*","resource":"*","apiGroup":"*"`))
	if err != nil {
		t.Fatal(err)
	}
	who := func(name string, groups ...string) *user.Info { return &user.Info{Name: name, Groups: groups} }
	for _, c := range []struct {
		user *user.Info
		verb string
		ns   string
		what string // resource, or path
		want bool
	}{
		{who("alice"), "delete", "n", "pods", true},
		{who("alice"), "delete", "m", "pods", false},
		{who("alice"), "delete", "n", "secrets", false},
		{who("x", "readers"), "list", "m", "secrets", true},
		{who("x", "readers"), "create", "m", "secrets", false},
		{who("x", user.AllAuthenticated), "get", "", "/logs/a", true},
		{who("x", user.AllAuthenticated), "get", "", "/metrics", false},
		{who("x"), "get", "", "/logs/a", false},
		{who("bob", "ops"), "delete", "n", "x", true},
		{who("bob"), "delete", "n", "x", false},
		{who("x", "ops"), "delete", "n", "x", false},
		{nil, "get", "n", "pods", false},
	} {
		attrs := &authorizer.Attributes{User: c.user, Verb: c.verb, Namespace: c.ns}
		if c.what[0] == '/' {
			attrs.Path = c.what
		} else {
			attrs.Resource, attrs.ResourceRequest = c.what, true
		}
		if d, _, err := a.Authorize(context.Background(), attrs); (d == authorizer.Allow) != c.want || err != nil {
			t.Errorf("%+v: %v %v", c, d, err)
		}
	}
	resource, nonResource, incomplete, err := a.RulesFor(context.Background(), who("alice", "readers", user.AllAuthenticated), "n")
	if len(resource) != 2 || len(nonResource) != 1 || incomplete || err != nil {
		t.Errorf("%v %v %v %v", resource, nonResource, incomplete, err)
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, text := range []string{"{", `{"kind":"Policy"}`, `{"apiVersion":"v1","kind":"Policy"}`} {
		if _, err := read(t, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestUnversioned(t *testing.T) {
	a, err := read(t, "# the old form\r\n\n"+`{"user":"alice","namespace":"n"}`+"\r\n"+`{"readonly":true,"resource":"pods"}`+"\n"+`{"group":"ops"}`)
	if err != nil {
		t.Fatal(err)
	}
	alice, any, ops := &user.Info{Name: "alice"}, &user.Info{Name: "x", Groups: []string{user.AllAuthenticated}}, &user.Info{Name: "y", Groups: []string{"ops"}}
	for _, c := range []struct {
		attrs authorizer.Attributes
		want  bool
	}{
		{authorizer.Attributes{User: alice, Verb: "delete", Namespace: "n", APIGroup: "apps", Resource: "deployments", ResourceRequest: true}, true},
		{authorizer.Attributes{User: alice, Verb: "delete", Namespace: "m", Resource: "pods", ResourceRequest: true}, false},
		{authorizer.Attributes{User: alice, Verb: "get", Path: "/metrics"}, false},
		{authorizer.Attributes{User: any, Verb: "list", Namespace: "m", Resource: "pods", ResourceRequest: true}, true},
		{authorizer.Attributes{User: any, Verb: "create", Namespace: "m", Resource: "pods", ResourceRequest: true}, false},
		{authorizer.Attributes{User: any, Verb: "get", Path: "/metrics"}, false},
		{authorizer.Attributes{User: ops, Verb: "get", Path: "/metrics"}, true},
		{authorizer.Attributes{User: ops, Verb: "delete", Namespace: "m", Resource: "x", ResourceRequest: true}, true},
		{authorizer.Attributes{User: &user.Info{Name: user.Anonymous}, Verb: "list", Namespace: "m", Resource: "pods", ResourceRequest: true}, false},
	} {
		if d, _, err := a.Authorize(context.Background(), &c.attrs); (d == authorizer.Allow) != c.want || err != nil {
			t.Errorf("%+v: %v %v", c.attrs, d, err)
		}
	}
	if _, err := read(t, "\n# c\n{\"user\":1}\n"); err == nil || !strings.Contains(err.Error(), ", line 3: ") {
		t.Errorf("the line is not named: %v", err)
	}
}
