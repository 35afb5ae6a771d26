package audit

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

func attributes(who, verb, namespace, group, resource, subresource, name string) *authorizer.Attributes { //nolint:unparam // the order of an attribute record
	return &authorizer.Attributes{User: &user.Info{Name: who, Groups: []string{"of-" + who}}, Verb: verb, Namespace: namespace,
		APIGroup: group, Resource: resource, Subresource: subresource, Name: name, ResourceRequest: true}
}

func path(who, verb, p string) *authorizer.Attributes { //nolint:unparam // read beside attributes
	return &authorizer.Attributes{User: &user.Info{Name: who}, Verb: verb, Path: p}
}

func TestRuleMatches(t *testing.T) {
	log := attributes("a", "get", "n", "", "pods", "log", "p")
	pod := attributes("a", "get", "n", "", "pods", "", "p")
	node := attributes("a", "get", "", "", "nodes", "", "x")
	resources := func(names ...string) PolicyRule { return PolicyRule{Resources: []GroupResources{{Resources: names}}} }
	for name, c := range map[string]struct {
		rule    PolicyRule
		request *authorizer.Attributes
		want    bool
	}{
		"everything":               {PolicyRule{}, pod, true},
		"everything, path":         {PolicyRule{}, path("a", "get", "/x"), true},
		"everything, nobody":       {PolicyRule{}, &authorizer.Attributes{}, true},
		"user":                     {PolicyRule{Users: []string{"b", "a"}}, pod, true},
		"other user":               {PolicyRule{Users: []string{"b"}}, pod, false},
		"user, nobody":             {PolicyRule{Users: []string{""}}, &authorizer.Attributes{}, false},
		"group":                    {PolicyRule{UserGroups: []string{"x", "of-a"}}, pod, true},
		"other group":              {PolicyRule{UserGroups: []string{"x"}}, pod, false},
		"group, nobody":            {PolicyRule{UserGroups: []string{"x"}}, &authorizer.Attributes{}, false},
		"user of no group":         {PolicyRule{Users: []string{"a"}, UserGroups: []string{"x"}}, pod, false},
		"verb":                     {PolicyRule{Verbs: []string{"get"}}, pod, true},
		"other verb":               {PolicyRule{Verbs: []string{"*"}}, pod, false},
		"namespace":                {PolicyRule{Namespaces: []string{"n"}}, pod, true},
		"no namespace":             {PolicyRule{Namespaces: []string{""}}, node, true},
		"other namespace":          {PolicyRule{Namespaces: []string{""}}, pod, false},
		"namespace, path":          {PolicyRule{Namespaces: []string{""}}, path("a", "get", "/x"), false},
		"core group":               {PolicyRule{Resources: []GroupResources{{}}}, log, true},
		"other group's":            {PolicyRule{Resources: []GroupResources{{Group: "apps"}}}, pod, false},
		"any group":                {PolicyRule{Resources: []GroupResources{{Group: "*", Resources: []string{"pods"}}}}, pod, true},
		"other of any group":       {PolicyRule{Resources: []GroupResources{{Group: "*", Resources: []string{"nodes"}}}}, pod, false},
		"second group":             {PolicyRule{Resources: []GroupResources{{Group: "apps"}, {}}}, pod, true},
		"resource":                 {resources("nodes", "pods"), pod, true},
		"resource, subresource":    {resources("pods"), log, false},
		"subresource":              {resources("pods/log"), log, true},
		"other subresource":        {resources("pods/exec"), log, false},
		"subresource, resource":    {resources("pods/log"), pod, false},
		"all":                      {resources("*"), log, true},
		"all subresources":         {resources("pods/*"), log, true},
		"and the resource":         {resources("pods/*"), pod, true},
		"all of another":           {resources("po/*"), log, false},
		"any resource's":           {resources("*/log"), log, true},
		"any resource's, resource": {resources("*/log"), pod, false},
		"name":                     {PolicyRule{Resources: []GroupResources{{Resources: []string{"*"}, ResourceNames: []string{"p"}}}}, pod, true},
		"other name":               {PolicyRule{Resources: []GroupResources{{Resources: []string{"*"}, ResourceNames: []string{"q"}}}}, pod, false},
		"resources, path":          {resources("*"), path("a", "get", "/x"), false},
		"path":                     {PolicyRule{NonResourceURLs: []string{"/x"}}, path("a", "get", "/x"), true},
		"below the path":           {PolicyRule{NonResourceURLs: []string{"/x"}}, path("a", "get", "/x/y"), false},
		"prefix":                   {PolicyRule{NonResourceURLs: []string{"/x*"}}, path("a", "get", "/x/y"), true},
		"other prefix":             {PolicyRule{NonResourceURLs: []string{"/x/*"}}, path("a", "get", "/x"), false},
		"any path":                 {PolicyRule{NonResourceURLs: []string{"*"}}, path("a", "get", "/x"), true},
		"any path, resource":       {PolicyRule{NonResourceURLs: []string{"*"}}, pod, false},
	} {
		if got := c.rule.matches(c.request); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFirstRuleDecides(t *testing.T) {
	yes, no := true, false
	p := &Policy{OmitStages: []Stage{StagePanic}, OmitManagedFields: true, Rules: []PolicyRule{
		{Level: LevelRequest, Users: []string{"a"}, OmitStages: []Stage{StageResponseStarted}, OmitManagedFields: &no},
		{Level: LevelMetadata, Users: []string{"a", "b"}},
		{Level: LevelNone, Users: []string{"c"}, OmitManagedFields: &yes},
	}}
	a := p.Decide(attributes("a", "get", "", "", "nodes", "", ""))
	if a.Level != LevelRequest || a.OmitManagedFields || !a.Omits(StagePanic) || !a.Omits(StageResponseStarted) || a.Omits(StageResponseComplete) {
		t.Errorf("a: %+v", a)
	}
	b := p.Decide(attributes("b", "get", "", "", "nodes", "", ""))
	if b.Level != LevelMetadata || !b.OmitManagedFields || b.Omits(StageResponseStarted) {
		t.Errorf("b: %+v", b)
	}
	if d := p.Decide(attributes("d", "get", "", "", "nodes", "", "")); d.Level != LevelNone {
		t.Errorf("d: %+v", d)
	}
}

// naive is an independent implementation of the rule's match: every pattern is a regular expression.
func naive(r *PolicyRule, a *authorizer.Attributes) bool {
	in := func(list []string, values ...string) bool {
		for _, l := range list {
			for _, v := range values {
				if l == v {
					return true
				}
			}
		}
		return len(list) == 0
	}
	if a.User == nil {
		if len(r.Users)+len(r.UserGroups) > 0 {
			return false
		}
	} else if !in(r.Users, a.User.Name) || !in(r.UserGroups, a.User.Groups...) {
		return false
	}
	if !in(r.Verbs, a.Verb) {
		return false
	}
	if len(r.Resources)+len(r.Namespaces) == 0 {
		found := len(r.NonResourceURLs) == 0
		for _, u := range r.NonResourceURLs {
			pattern := regexp.QuoteMeta(strings.TrimSuffix(u, "*"))
			if strings.HasSuffix(u, "*") {
				pattern += "(?s:.*)"
			}
			found = found || !a.ResourceRequest && regexp.MustCompile(`\A`+pattern+`\z`).MatchString(a.Path)
		}
		return found
	}
	if !a.ResourceRequest || !in(r.Namespaces, a.Namespace) {
		return false
	}
	found := len(r.Resources) == 0
	for _, g := range r.Resources {
		if g.Group != a.APIGroup || !in(g.ResourceNames, a.Name) {
			continue
		}
		found = found || len(g.Resources) == 0
		full := a.Resource
		if a.Subresource != "" {
			full += "/" + a.Subresource
		}
		for _, pattern := range g.Resources {
			switch {
			case pattern == "*", pattern == full, pattern == a.Resource+"/*", a.Subresource != "" && pattern == "*/"+a.Subresource:
				found = true
			}
		}
	}
	return found
}

func FuzzPolicy(f *testing.F) {
	f.Add("a,b", "g", "get", "pods,pods/*,*/log", "p", "n,", "", "a", "g", "get", "pods", "log", "p", "n", "/x", true)
	f.Add("", "", "", "", "", "", "/x*,*", "a", "g", "get", "", "", "", "", "/x/y", false)
	f.Add("", "", "", "*/scale", "", "", "", "", "", "", "deployments", "scale", "", "", "", true)
	f.Fuzz(func(t *testing.T, users, groups, verbs, resources, names, namespaces, urls, who, group, verb, resource, sub, name, namespace, path string, isResource bool) {
		list := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		if strings.Contains(resource+sub, "/") || resource == "*" || sub == "*" {
			return // the path does not yield such
		}
		if !utf8.ValidString(urls) {
			return // a policy is a file of YAML
		}
		r := &PolicyRule{Level: LevelMetadata, Users: list(users), UserGroups: list(groups), Verbs: list(verbs), Namespaces: list(namespaces), NonResourceURLs: list(urls)}
		if resources != "" || names != "" {
			r.Resources = []GroupResources{{Group: "other"}, {Resources: list(resources), ResourceNames: list(names)}}
		}
		a := attributes(who, verb, namespace, "", resource, sub, name)
		a.User.Groups, a.Path, a.ResourceRequest = []string{group}, path, isResource
		if who == "nobody" {
			a.User = nil
		}
		if got, want := r.matches(a), naive(r, a); got != want {
			t.Errorf("%+v\nof %+v: got %v", a, r, got)
		}
	})
}
