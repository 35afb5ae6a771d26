package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for name, c := range map[string]struct{ text, err string }{
		"all fields": {head + `
metadata: {name: x}
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  users: [a]
  userGroups: [g]
  verbs: [get]
  namespaces: ["", ns]
  resources: [{group: apps, resources: ["deployments", "*/scale"], resourceNames: [web]}, {group: "*"}]
  omitStages: [ResponseStarted, Panic, ResponseComplete]
  omitManagedFields: false
- level: None
  nonResourceURLs: ["/healthz*", "*", "/version"]
`, ""},
		"JSON":             {`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}`, ""},
		"no rules":         {head, "illegal policy with 0 rules"},
		"empty":            {"", "failed decoding"},
		"no YAML":          {"{", "failed decoding"},
		"old version":      {"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]", `apiVersion "audit.k8s.io/v1beta1"`},
		"other kind":       {"apiVersion: audit.k8s.io/v1\nkind: Event\nrules: [{level: None}]", `kind "Event"`},
		"unknown field":    {head + "rules: [{level: None, user: [a]}]", `unknown field "rules[0].user"`},
		"duplicate field":  {head + "rules: [{level: None}]\nrules: []", "already set"},
		"wrong case":       {head + "rules: [{level: None, Users: [a]}]", `unknown field "rules[0].Users"`},
		"wrong type":       {head + "rules: {level: None}", "failed decoding"},
		"no level":         {head + "rules: [{users: [a]}]", "rules[0].level: Required value"},
		"unknown level":    {head + "rules: [{level: None}, {level: All}]", `rules[1].level: Unsupported value: "All"`},
		"unknown stage":    {head + "omitStages: [Sometime]\nrules: [{level: None}]", "omitStages[0]: Invalid value"},
		"rule's stage":     {head + "rules: [{level: None, omitStages: [\"\"]}]", "rules[0].omitStages[0]: Invalid value"},
		"relative URL":     {head + "rules: [{level: None, nonResourceURLs: [healthz]}]", "rules[0].nonResourceURLs[0]: Invalid value"},
		"inner wildcard":   {head + "rules: [{level: None, nonResourceURLs: [/a/*/b]}]", "must be the last character"},
		"mixed":            {head + "rules: [{level: None, nonResourceURLs: [/a], namespaces: [ns]}]", "cannot apply to both"},
		"group's version":  {head + "rules: [{level: None, resources: [{group: apps/v1}]}]", "rules[0].resources[0].group: Invalid value"},
		"names of nothing": {head + "rules: [{level: None, resources: [{resourceNames: [a]}]}]", "requires at least one resource"},
	} {
		_, err := ParsePolicy([]byte(c.text))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want %q", name, err, c.err)
		}
	}
}

func TestLoadPolicyNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := LoadPolicy(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("kind: Policy"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPolicy(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
