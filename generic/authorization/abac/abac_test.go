package abac

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"triplane/generic/authentication/user"
	"triplane/generic/authorization/authorizer"
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
