package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// answer is what /debug/chain says of a request.
type answer struct {
	Server string
	Claim  struct {
		Path, Rule, Object, Route string
		External                  *struct {
			Service, Reason string
			Available       bool
		}
	}
	Walk          []struct{ Server, Does string }
	Filters       []struct{ Name, Does string }
	Authorization struct{ User, Decision, Reason string }
}

// explain asks who answers a request.
func explain(t *testing.T, s *harness.Server, verb, path string, more ...string) answer {
	t.Helper()
	args := append([]string{"get", "--raw", "/debug/chain?verb=" + verb + "&path=" + url.QueryEscape(path)}, more...)
	var a answer
	if err := json.Unmarshal([]byte(s.Kubectl(t, args...)), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// crd defines a resource without a schema to speak of.
func crd(plural, kind, group, scope string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %s
  scope: %s
  names: {plural: %s, kind: %s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---`, plural, group, group, scope, plural, kind)
}

// overlapping are two APIServices without a server behind them: for the group of a CRD
// in another version, and for a group version that a CRD defines, too.
const overlapping = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.hidden.example.com}
spec: {group: hidden.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: absent}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v9.example.com}
spec: {group: example.com, version: v9, groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: absent, port: 8443}}
`

func TestDebugChain(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.KubectlIn(t, overlapping, "apply", "-f", "-")
	s.KubectlIn(t, crd("widgets", "Widget", "example.com", "Namespaced")+crd("things", "Thing", "hidden.example.com",
		"Cluster"), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "crd/things.hidden.example.com")
	s.Kubectl(t, "wait", "--for=condition=Available=false", "apiservice/v1.hidden.example.com",
		"apiservice/v9.example.com")

	for _, c := range []struct{ name, verb, path, server, rule, object, route string }{
		{"the aggregator's own group", "list", "/apis/apiregistration.k8s.io/v1/apiservices", "kube-aggregator",
			"routes", "", "GET /apis/apiregistration.k8s.io/v1/apiservices"},
		{"a path of the outermost server", "get", "/version", "kube-aggregator", "routes", "", "GET /version/"},
		{"a health check", "get", "/readyz/ping", "kube-aggregator", "path", "", ""},
		{"a group's document", "get", "/apis/apps", "kube-aggregator", "discovery", "", ""},
		{"a built-in kind", "watch", "/api/v1/namespaces/default/pods", "kube-apiserver", "routes", "",
			"GET /api/v1/namespaces/{namespace}/pods"},
		{"a write", "create", "/apis/apps/v1/namespaces/a/deployments", "kube-apiserver", "routes", "",
			"POST /apis/apps/v1/namespaces/{namespace}/deployments"},
		{"a kind that the group lacks", "list", "/apis/apps/v1/widgets", "kube-apiserver", "routes", "", ""},
		{"the definitions", "list", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "apiextensions-apiserver", "routes", "", "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
		{"a custom resource", "list", "/apis/example.com/v1/namespaces/default/widgets", "apiextensions-apiserver",
			"CustomResourceDefinition", "widgets.example.com", ""},
		{"an external version of the same group", "list", "/apis/example.com/v9/widgets", "kube-aggregator",
			"APIService", "v9.example.com", ""},
		{"an external version that hides a CRD", "list", "/apis/hidden.example.com/v1/things", "kube-aggregator",
			"APIService", "v1.hidden.example.com", ""},
		{"nobody's path", "get", "/nothing/here", "none", "none", "", ""},
	} {
		a := explain(t, s, c.verb, c.path)
		if a.Server != c.server || a.Claim.Rule != c.rule || a.Claim.Object != c.object || a.Claim.Route != c.route {
			t.Errorf("%s: %s %s is answered by %s: %+v", c.name, c.verb, c.path, a.Server, a.Claim)
		}
		if a.Authorization.Decision != "allow" || a.Authorization.User != "triplane-admin" {
			t.Errorf("%s: authorization says %+v", c.name, a.Authorization)
		}
	}

	hidden := explain(t, s, "list", "/apis/hidden.example.com/v1/things")
	if e := hidden.Claim.External; e == nil || e.Available || e.Reason != "ServiceNotFound" ||
		e.Service != "default/absent:443" {
		t.Errorf("the external server is %+v", e)
	}
	if last := hidden.Walk[len(hidden.Walk)-1]; last.Server != "apiextensions-apiserver" || last.Does != "is hidden" {
		t.Errorf("the CRD behind the APIService is not seen: %+v", hidden.Walk)
	}

	refused := explain(t, s, "delete", "/api/v1/nodes/a")
	if len(refused.Filters) == 0 || !strings.HasPrefix(does(refused, "priorityAndFairness"), "flow schema exempt") ||
		does(refused, "deadline") != "ends the request after 1m0s" {
		t.Errorf("the filters are %+v", refused.Filters)
	}
}

// does is what a filter does.
func does(a answer, filter string) string {
	for _, f := range a.Filters {
		if f.Name == filter {
			return f.Does
		}
	}
	return ""
}

func TestDebugChainOfTheWholeServer(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Kubectl(t, "get", "namespaces")
	text := s.Kubectl(t, "get", "--raw", "/debug/chain?format=text")
	for _, line := range []string{"kube-aggregator → kube-apiserver", "kube-apiserver → apiextensions-apiserver",
		"  /api/v1 (routes)", "authentication"} {
		if !strings.Contains(text, line) {
			t.Errorf("the text lacks %q:\n%s", line, text)
		}
	}
	var whole struct {
		Servers []struct {
			Name    string
			Traffic struct{ Requests map[string]int }
		}
	}
	if err := json.Unmarshal([]byte(s.Kubectl(t, "get", "--raw", "/debug/chain")), &whole); err != nil {
		t.Fatal(err)
	}
	if len(whole.Servers) != 6 || whole.Servers[1].Name != "kube-apiserver" ||
		whole.Servers[1].Traffic.Requests["2xx"] == 0 {
		t.Errorf("the servers are %+v", whole.Servers)
	}
	for what, path := range map[string]string{"a verb that is none": "/debug/chain?path=/api&verb=dance",
		"another server": "/debug/chain?path=http://other/api"} {
		if out, err := s.TryKubectl(t, "", "get", "--raw", path); err == nil {
			t.Errorf("%s is answered: %s", what, out)
		}
	}
	if out, err := s.TryKubectl(t, "", "get", "--raw", "/debug/chain", "--as", "jane"); err == nil ||
		!strings.Contains(out, "forbidden") {
		t.Errorf("everybody may see the chain: %s", out)
	}
}
