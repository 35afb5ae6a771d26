package configuration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const good = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: hook.example.org
  webhook:
    timeout: 3s
    unauthorizedTTL: 10s
    cacheAuthorizedRequests: false
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: FILE}
    matchConditions:
    - expression: request.user != 'x'
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`

func read(t *testing.T, text string) (*Configuration, Conditions, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Decode([]byte(strings.ReplaceAll(text, "FILE", file)))
	if err != nil {
		return nil, nil, err
	}
	conditions, errs := Compile(c)
	return c, conditions, errs.ToAggregate()
}

func TestDecode(t *testing.T) {
	c, conditions, err := read(t, good)
	if err != nil || len(c.Authorizers) != 3 || len(conditions["hook.example.org"]) != 1 {
		t.Fatalf("%+v %v %v", c, conditions, err)
	}
	w := c.Authorizers[0].Webhook
	if w.AuthorizedTTL.Duration != 5*time.Minute || w.UnauthorizedTTL.Duration != 10*time.Second || *w.CacheAuthorizedRequests || w.CacheUnauthorizedRequests != nil {
		t.Errorf("%+v", w)
	}
}

// Flags can set a TTL of 0, which files cannot.
func TestNothingKept(t *testing.T) {
	c, _, err := read(t, good)
	if err != nil {
		t.Fatal(err)
	}
	w := c.Authorizers[0].Webhook
	w.AuthorizedTTL.Duration, w.UnauthorizedTTL.Duration = 0, 0
	if _, errs := Compile(c); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"kind: AuthorizationConfiguration", "kind: X", `no kind "X"`},
		{"/v1\n", "/v2\n", `for version "apiserver.config.k8s.io/v2"`},
		{"timeout: 3s", "timeout: 3s\n    x: y", `unknown field "authorizers[0].webhook.x"`},
		{"timeout: 3s", "timeout: 31s", `authorizers[0].webhook.timeout: Invalid value: "31s": must be > 0s and <= 30s`},
		{"timeout: 3s", "timeout: -1s", "must be > 0s"},
		{"timeout: 3s", "authorizedTTL: 1s", "authorizers[0].webhook.timeout: Required value"},
		{"timeout: 3s", "timeout: 3s\n    authorizedTTL: -1s", "authorizers[0].webhook.authorizedTTL: Invalid value"},
		{"subjectAccessReviewVersion: v1\n    match", "subjectAccessReviewVersion: v2\n    match", "authorizers[0].webhook.subjectAccessReviewVersion: Unsupported value"},
		{"    matchConditionSubjectAccessReviewVersion: v1\n", "", "authorizers[0].webhook.matchConditionSubjectAccessReviewVersion: Required value"},
		{"failurePolicy: Deny", "failurePolicy: Ignore", `authorizers[0].webhook.failurePolicy: Unsupported value: "Ignore"`},
		{"kubeConfigFile: FILE", "kubeConfigFile: relative", "must be an absolute path"},
		{"kubeConfigFile: FILE", "kubeConfigFile: /", "must be a regular file"},
		{"kubeConfigFile: FILE", "kubeConfigFile: /does/not/exist", "error loading file"},
		{", kubeConfigFile: FILE", "", "authorizers[0].webhook.connectionInfo.kubeConfigFile: Required value"},
		{"type: KubeConfigFile", "type: InClusterConfig", "can only be set when type=KubeConfigFile"},
		{"type: KubeConfigFile", "type: X", "authorizers[0].webhook.connectionInfo.type: Unsupported value"},
		{"request.user != 'x'", "request.x", "authorizers[0].webhook.matchConditions[0].expression: Invalid value"},
		{"expression: request.user != 'x'", "expression: ''", "authorizers[0].webhook.matchConditions[0].expression: Required value"},
		{"- expression: request.user != 'x'", "- expression: 'true'\n    - expression: 'true'", "authorizers[0].webhook.matchConditions[1].expression: Duplicate value"},
		{"type: RBAC", "type: Node", `authorizers[2].type: Duplicate value: "Node"`},
		{"type: RBAC", "type: X", `authorizers[2].type: Unsupported value: "X"`},
		{"type: RBAC", "type: Webhook", "authorizers[2].webhook: Required value"},
		{"name: rbac", "name: node", `authorizers[2].name: Duplicate value: "node"`},
		{"name: rbac", "name: Rbac", "authorizer name is invalid"},
		{"name: rbac", "name: policy", `authorizers[2].name: Invalid value: "policy": expected name rbac for authorizer RBAC`},
		{", name: rbac", "", "authorizers[2].name: Required value"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not there", c.old)
		}
		if _, _, err := read(t, text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
	if _, _, err := read(t, strings.Split(good, "authorizers:")[0]); err == nil || !strings.Contains(err.Error(), "at least one authorization mode") {
		t.Error(err)
	}
}
