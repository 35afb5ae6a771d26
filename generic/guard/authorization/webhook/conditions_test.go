package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/fields"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

func conditions(t *testing.T, sources ...string) (all []*Condition) {
	t.Helper()
	for _, s := range sources {
		c, err := CompileCondition(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestConditions(t *testing.T) {
	pod := authorizer.Attributes{
		User: &user.Info{Name: "u", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}, Verb: "list", Namespace: "n", Resource: "pods", ResourceRequest: true,
		FieldSelector: fields.ParseSelectorOrDie("a=b").Requirements(),
	}
	path := authorizer.Attributes{User: &user.Info{Name: "u"}, Verb: "get", Path: "/metrics"}
	for _, c := range []struct {
		name       string
		attrs      authorizer.Attributes
		conditions []string
		deny       bool
		asked      bool
		decision   authorizer.Decision
		fails      bool
	}{
		{"none", pod, nil, false, true, authorizer.Allow, false},
		{"all true", pod, []string{"request.user == 'u'", "'g' in request.groups", "request.extra['k'] == ['v']", "request.resourceAttributes.namespace == 'n'",
			"has(request.resourceAttributes) && !has(request.nonResourceAttributes)", "request.resourceAttributes.fieldSelector.requirements[0].key == 'a'"}, false, true, authorizer.Allow, false},
		{"path", path, []string{"has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/metrics' && !has(request.resourceAttributes)"}, false, true, authorizer.Allow, false},
		{"no attributes of a resource", path, []string{"request.resourceAttributes.namespace == 'n'"}, true, false,
			authorizer.Deny, true},
		{"no selector", pod, []string{"request.resourceAttributes.labelSelector.requirements.size() == 0"}, false, false,
			authorizer.NoOpinion, true},
		{"empty texts", pod, []string{"has(request.uid) && request.uid == '' && request.resourceAttributes.name == ''",
			"has(request.resourceAttributes.subresource) && !has(request.resourceAttributes.labelSelector)"}, false, true,
			authorizer.Allow, false},
		{"requirements", pod, []string{"request.resourceAttributes.fieldSelector.requirements.exists(r, " +
			"r.key == 'a' && r.operator == 'In' && r.values == ['b'])",
			"!has(request.resourceAttributes.fieldSelector.rawSelector)"}, false, true, authorizer.Allow, false},
		{"one false", pod, []string{"true", "request.user == 'x'"}, true, false, authorizer.NoOpinion, false},
		{"failing", pod, []string{"request.groups[7] == 'x'"}, false, false, authorizer.NoOpinion, true},
		{"failing, deny", pod, []string{"request.groups[7] == 'x'"}, true, false, authorizer.Deny, true},
		{"failing and false", pod, []string{"request.groups[7] == 'x'", "false"}, true, false, authorizer.NoOpinion, false},
		{"too costly", pod, []string{"[1,2,3,4,5,6,7,8,9,0].all(a, [1,2,3,4,5,6,7,8,9,0].all(b, [1,2,3,4,5,6,7,8,9,0].all(c, [1,2,3,4,5,6,7,8,9,0].all(d, [1,2,3,4,5,6,7,8,9,0].all(e, [1,2,3,4,5,6,7,8,9,0].all(f, a+b+c+d+e+f < 100))))))"},
			true, false, authorizer.Deny, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			service := caller(t, func(w http.ResponseWriter, _ *http.Request) {
				asked = true
				_, _ = fmt.Fprint(w, `{"status":{"allowed":true}}`)
			})
			a, err := New(Config{Name: "w", Caller: service, Version: "v1", Conditions: conditions(t, c.conditions...), DenyOnError: c.deny, Metrics: NewMetrics(prometheus.NewRegistry())})
			if err != nil {
				t.Fatal(err)
			}
			decision, _, err := a.Authorize(context.Background(), &c.attrs)
			if asked != c.asked || decision != c.decision || (err != nil) != c.fails {
				t.Errorf("called %v, %v, %v", asked, decision, err)
			}
		})
	}
	for source, why := range map[string]string{
		"request.nothing == 'x'": "undefined field 'nothing'",
		"'x'":                    "must evaluate to bool",
		"object.x":               "undeclared reference",
		"(":                      "Syntax error",
	} {
		if _, err := CompileCondition(source); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestFailurePolicy(t *testing.T) {
	service := caller(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	for deny, want := range map[bool]authorizer.Decision{false: authorizer.NoOpinion, true: authorizer.Deny} {
		a, err := New(Config{Name: "w", Caller: service, Version: "v1", AllowedTTL: time.Minute, DenyOnError: deny})
		if err != nil {
			t.Fatal(err)
		}
		if d, _, err := a.Authorize(context.Background(), &authorizer.Attributes{Path: "/"}); d != want || err == nil {
			t.Errorf("deny %v: %v %v", deny, d, err)
		}
	}
}
