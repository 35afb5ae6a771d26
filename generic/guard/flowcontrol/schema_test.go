package flowcontrol

import (
	"testing"

	flowv1 "k8s.io/api/flowcontrol/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

func TestSubjects(t *testing.T) {
	account := func(namespace, name string) flowv1.Subject {
		return flowv1.Subject{Kind: "ServiceAccount", ServiceAccount: &flowv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
	}
	named := func(name string) flowv1.Subject {
		return flowv1.Subject{Kind: "User", User: &flowv1.UserSubject{Name: name}}
	}
	for _, c := range []struct {
		subject flowv1.Subject
		user    string
		want    bool
	}{
		{named("ann"), "ann", true}, {named("ann"), "bob", false}, {named("*"), "bob", true},
		{group("g"), "ann", true}, {group("h"), "ann", false}, {group("*"), "ann", true},
		{account("ns", "a"), "system:serviceaccount:ns:a", true}, {account("ns", "*"), "system:serviceaccount:ns:b", true},
		{account("ns", "a"), "system:serviceaccount:ns:b", false}, {account("ns", "*"), "system:serviceaccount:ns2:b", false},
		{account("ns", "*"), "ns:b", false},
		{flowv1.Subject{Kind: "User"}, "ann", false}, {flowv1.Subject{Kind: "Pod"}, "ann", false},
	} {
		if got := subjectIs(&c.subject, &user.Info{Name: c.user, Groups: []string{"g"}}); got != c.want {
			t.Errorf("%+v, %s: %v", c.subject, c.user, got)
		}
	}
}

func TestRules(t *testing.T) {
	r := flowv1.PolicyRulesWithSubjects{
		ResourceRules: []flowv1.ResourcePolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/status"}, Namespaces: []string{"ns"}},
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"nodes"}, ClusterScope: true},
			{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"*"}, Namespaces: []string{"*"}},
		},
		NonResourceRules: []flowv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/version", "/debug/*"}}},
	}
	resource := func(verb, group, resource, subresource, namespace string) request.Info {
		return request.Info{IsResourceRequest: true, Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Namespace: namespace}
	}
	for _, c := range []struct {
		info request.Info
		want bool
	}{
		{resource("get", "apps", "deployments", "", "ns"), true},
		{resource("get", "apps", "deployments", "status", "ns"), true},
		{resource("get", "apps", "deployments", "scale", "ns"), false},
		{resource("get", "apps", "deploymentsstatus", "", "ns"), false},
		{resource("get", "apps", "deployments", "", "other"), false},
		{resource("get", "apps", "deployments", "", ""), false},
		{resource("update", "apps", "deployments", "", "ns"), false},
		{resource("watch", "", "nodes", "", ""), true},
		{resource("watch", "", "nodes", "", "ns"), false},
		{resource("list", "", "pods", "log", "any"), true},
		{resource("list", "", "pods", "", ""), false}, // "*" is any namespace, not none
		{request.Info{Verb: "get", Path: "/version"}, true},
		{request.Info{Verb: "get", Path: "/version/"}, false},
		{request.Info{Verb: "get", Path: "/debug/pprof"}, true},
		{request.Info{Verb: "post", Path: "/version"}, false},
	} {
		if got := ruleCovers(&r, &c.info); got != c.want {
			t.Errorf("%+v: %v", c.info, got)
		}
	}
}

func TestPrecedence(t *testing.T) {
	all := []*schema{{name: "b", order: 5}, {name: "c", order: 1}, {name: "a", order: 5}}
	sortSchemas(all)
	if all[0].name != "c" || all[1].name != "a" || all[2].name != "b" {
		t.Errorf("%s %s %s", all[0].name, all[1].name, all[2].name)
	}
}

func TestDeal(t *testing.T) {
	const deck, size, deals = 8, 3, 8 * 7 * 6 * 40
	var hand [maxHand]int
	seen := map[[size]int]int{}
	for hash := range uint64(deals) {
		cards := deal(hash, deck, size, &hand)
		seen[[size]int(cards)]++
		for i, c := range cards {
			if c < 0 || c >= deck || (i > 0 && c == cards[0]) || (i == 2 && c == cards[1]) {
				t.Fatalf("hash %d: %v", hash, cards)
			}
		}
	}
	if len(seen) != 8*7*6 {
		t.Errorf("%d hands are dealt", len(seen))
	}
	for h, n := range seen {
		if n != 40 {
			t.Errorf("%v is dealt %d times", h, n)
		}
	}
}

// counted implements Objects with fixed numbers.
type counted struct {
	objects  int64
	watchers int
}

func (c counted) Count(string, string) (int64, bool)          { return c.objects, c.objects >= 0 }
func (c counted) Watchers(string, string, string, string) int { return c.watchers }

func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		verb, query, selector string
		objects               counted
		nominal               int
		seats, final          int
	}{
		{"get", "", "", counted{1e6, 1e6}, 600, 1, 0},
		{"list", "", "", counted{0, 0}, 600, 1, 0},
		{"list", "", "", counted{-1, 0}, 600, 1, 0},
		{"list", "", "", counted{450, 0}, 600, 5, 0},
		{"list", "", "", counted{1e6, 0}, 600, 10, 0},
		{"list", "", "", counted{1e6, 0}, 20, 3, 0},
		{"list", "", "", counted{1e6, 0}, 0, 1, 0},
		{"list", "limit=150", "", counted{1e6, 0}, 600, 2, 0},
		{"list", "limit=150", "a=b", counted{1e6, 0}, 600, 10, 0},
		{"list", "limit=x", "", counted{1e6, 0}, 600, 10, 0},
		{"list", "limit=-5", "", counted{1e6, 0}, 600, 10, 0},
		{"watch", "watch=1&resourceVersion=77", "", counted{1e6, 0}, 600, 1, 0},
		{"watch", "watch=1&resourceVersion=0", "", counted{1e6, 0}, 600, 10, 0},
		{"watch", "sendInitialEvents=true&resourceVersion=7", "", counted{250, 0}, 600, 3, 0},
		{"create", "", "", counted{10, 9}, 600, 1, 0},
		{"update", "", "", counted{10, 35}, 600, 1, 4},
		{"patch", "", "", counted{10, 1e6}, 600, 1, 10},
	} {
		info := &request.Info{IsResourceRequest: true, Verb: c.verb, Resource: "pods", LabelSelector: c.selector}
		w := estimate(&Request{Info: info, Query: c.query}, c.objects, c.nominal)
		if w.seats != c.seats || w.finalSeats != c.final || (w.extra > 0) != (c.final > 0) {
			t.Errorf("%+v: %+v", c, w)
		}
	}
}
