package filters

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/requestmetrics"
)

// constrained allows all permissions of constrained impersonation, and nothing else.
type constrained struct{ asked []authorizer.Attributes }

func (c *constrained) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	c.asked = append(c.asked, *a)
	if strings.HasPrefix(a.Verb, "impersonate:") || strings.HasPrefix(a.Verb, "impersonate-on:") {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}

// impersonate returns the user that headers impersonate, nil if they are rejected.
func impersonate(authz authorizer.Authorizer, requestor *user.Info, h http.Header) (as *user.Info, code int) {
	e := &exchange{}
	e.info = request.Info{Verb: "list", Resource: "pods", IsResourceRequest: true}
	e.User = requestor
	wanted := wantedUser(h)
	if wanted == nil {
		return requestor, 0
	}
	if wanted.Name == "" {
		return nil, http.StatusBadRequest
	}
	constraint, refusal := newImpersonationModes(authz, false, nil).check(e, wanted)
	if refusal != nil {
		return nil, int(refusal.ErrStatus.Code)
	}
	return completeUser(wanted, constraint), 0
}

func TestConstrainedImpersonation(t *testing.T) {
	agent := &user.Info{Name: "system:serviceaccount:n:agent", Groups: []string{user.AllAuthenticated}, Extra: map[string][]string{user.NodeNameKey: {"here"}}}
	for _, c := range []struct {
		name    string
		headers []string
		groups  []string // nil is refused
		code    int
	}{
		{"plain user", []string{impersonateUser, "bob", impersonateGroup, "dev"}, []string{"dev", user.AllAuthenticated}, 0},
		{"masters", []string{impersonateUser, "bob", impersonateGroup, user.SystemPrivileged}, nil, 403},
		{"masters among others", []string{impersonateUser, "bob", impersonateGroup, "dev", impersonateGroup, user.SystemPrivileged}, nil, 403},
		{"own node", []string{impersonateUser, "system:node:here"}, []string{user.NodesGroup, user.AllAuthenticated}, 0},
		{"another node", []string{impersonateUser, "system:node:there"}, []string{user.NodesGroup, user.AllAuthenticated}, 0},
		{"node with a group", []string{impersonateUser, "system:node:here", impersonateGroup, "dev"}, nil, 403},
		{"node without a name", []string{impersonateUser, "system:node:"}, []string{user.AllAuthenticated}, 0},
		{"service account", []string{impersonateUser, "system:serviceaccount:n:s"}, []string{user.AllServiceAccounts, user.ServiceAccountGroup + "n", user.AllAuthenticated}, 0},
		{"service account with a group", []string{impersonateUser, "system:serviceaccount:n:s", impersonateGroup, "dev"}, nil, 403},
		{"empty group", []string{impersonateUser, "bob", impersonateGroup, ""}, nil, 403},
		{"empty key", []string{impersonateUser, "bob", impersonateExtraPrefix, "v"}, nil, 403},
		{"key without a domain", []string{impersonateUser, "bob", impersonateExtraPrefix + "scopes", "v"}, nil, 403},
		{"key with a domain", []string{impersonateUser, "bob", impersonateExtraPrefix + "example.com%2fscopes", "v"}, []string{user.AllAuthenticated}, 0},
		{"no user", []string{impersonateGroup, "dev"}, nil, 400},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Add(c.headers[i], c.headers[i+1])
		}
		as, code := impersonate(&constrained{}, agent, h)
		if code != c.code || (as == nil) != (c.groups == nil) || as != nil && !slices.Equal(as.Groups, c.groups) {
			t.Errorf("%s: %+v, %d", c.name, as, code)
		}
	}
}

// TestImpersonationMetrics counts each authorization check, and the attempt with the mode that allowed it.
func TestImpersonationMetrics(t *testing.T) {
	metrics := requestmetrics.New()
	check := func(authz authorizer.Authorizer, allowed bool) {
		e := &exchange{}
		e.info = request.Info{Verb: "list", Resource: "pods", IsResourceRequest: true}
		e.User = &user.Info{Name: "alice"}
		wanted := &user.Info{Name: "bob", Groups: []string{"dev"}}
		if _, refusal := newImpersonationModes(authz, false, metrics).check(e, wanted); (refusal == nil) != allowed {
			t.Errorf("refusal %v, want allowed = %v", refusal, allowed)
		}
	}
	check(&constrained{}, true)
	check(authorizerFunc(func(a *authorizer.Attributes) bool { return a.Verb == "impersonate" }), true)
	check(authorizerFunc(func(*authorizer.Attributes) bool { return false }), false)
	got := map[string]float64{}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		name, counts := strings.CutSuffix(f.GetName(), "attempts_total")
		name, impersonations := strings.CutPrefix(name, "apiserver_impersonation_")
		if !counts || !impersonations {
			continue
		}
		for _, m := range f.GetMetric() {
			got[name+m.GetLabel()[1].GetValue()+" "+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"user-info allowed": 1, "legacy allowed": 1, " denied": 1,
		"authorization_user-info allowed": 3, "authorization_user-info denied": 2,
		"authorization_legacy allowed": 2, "authorization_legacy denied": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type authorizerFunc func(*authorizer.Attributes) bool

func (f authorizerFunc) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if f(a) {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}

// TestImpersonationOrder wants the order in which a request that lacks several permissions is rejected.
func TestImpersonationOrder(t *testing.T) {
	wanted := &user.Info{Name: "bob", UID: "u", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}
	var order []string
	for _, a := range subjects(&impersonationMode{}, "", wanted) {
		order = append(order, a.Resource)
	}
	if want := []string{"users", "uids", "groups", "userextras"}; !slices.Equal(order, want) {
		t.Errorf("subjects in the order %v, want %v", order, want)
	}
}

// ownNode allows users to impersonate the node on which they run.
type ownNode struct{}

func (ownNode) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.Verb == "impersonate:associated-node" || strings.HasPrefix(a.Verb, "impersonate-on:associated-node:") {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}

// A user who may impersonate its pod's node may not impersonate other users.
func TestAssociatedNode(t *testing.T) {
	const account, key = "system:serviceaccount:n:agent", user.NodeNameKey
	for _, c := range []struct {
		name, as  string
		requestor *user.Info
		allowed   bool
	}{
		{"its own", "system:node:here", &user.Info{Name: account, Extra: map[string][]string{key: {"here"}}}, true},
		{"another", "system:node:there", &user.Info{Name: account, Extra: map[string][]string{key: {"here"}}}, false},
		{"one of two", "system:node:here", &user.Info{Name: account, Extra: map[string][]string{key: {"here", "there"}}}, false},
		{"without a node", "system:node:here", &user.Info{Name: account}, false},
		{"of no service account", "system:node:here", &user.Info{Name: "bob", Extra: map[string][]string{key: {"here"}}}, false},
	} {
		h := http.Header{impersonateUser: {c.as}}
		if as, _ := impersonate(ownNode{}, c.requestor, h); (as != nil) != c.allowed {
			t.Errorf("%s: %+v", c.name, as)
		}
	}
}

// FuzzImpersonation checks for any headers that constrained permissions lead to no user with all permissions, and
// that all attributes of the user were authorized.
func FuzzImpersonation(f *testing.F) {
	f.Add("bob", "g", "k", "v", "u")
	f.Add("system:node:n", "", "", "", "")
	f.Add("system:serviceaccount:n:s", "", "", "", "")
	f.Add("bob", user.SystemPrivileged, "a%2Fb", "", "")
	f.Fuzz(func(t *testing.T, name, group, key, value, uid string) {
		h := http.Header{}
		set := func(header, v string) {
			if v != "" {
				h[header] = append(h[header], v)
			}
		}
		set(impersonateUser, name)
		set(impersonateGroup, group)
		set(impersonateUID, uid)
		set(impersonateExtraPrefix+key, value)
		authz := &constrained{}
		requestor := &user.Info{Name: "requestor"}
		as, _ := impersonate(authz, requestor, h)
		if as == nil || as == requestor {
			return
		}
		if as.Name != name || as.InGroup(user.SystemPrivileged) || as.InGroup("") {
			t.Fatalf("%+v", as)
		}
		asked := func(resource, subresource, name string) bool {
			return slices.ContainsFunc(authz.asked, func(a authorizer.Attributes) bool {
				return a.Resource == resource && a.Subresource == subresource && a.Name == name
			})
		}
		plain, err := url.PathUnescape(strings.ToLower(key))
		if err != nil {
			plain = strings.ToLower(key)
		}
		if group != "" && !asked("groups", "", group) || uid != "" && !asked("uids", "", uid) || value != "" && !asked("userextras", plain, value) {
			t.Fatalf("%+v without having been asked about it: %+v", as, authz.asked)
		}
	})
}
