// The audit log of what kubectl does.

package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// TestAudit has the binary record what kubectl does, in batches of which the last
// is written when the server is asked to stop.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "logs", "audit.log")
	rules := `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver"]}
- {level: Metadata, resources: [{resources: [secrets]}]}
- {level: RequestResponse, verbs: [create, delete]}
- {level: None}
`
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, "--audit-policy-file", policy, "--audit-log-path", log,
		"--audit-log-mode=batch", "--audit-log-batch-max-size=1000", "--audit-log-batch-max-wait=1h")
	s.Kubectl(t, "create", "configmap", "shown", "--from-literal=k=visible")
	s.Kubectl(t, "create", "secret", "generic", "hidden", "--from-literal=k=invisible")
	s.Kubectl(t, "delete", "configmap", "shown", "--wait=false")
	s.Kubectl(t, "get", "configmaps")
	if err := s.Terminate(t); err != nil {
		t.Fatalf("SIGTERM: %v\n%s", err, s.Output())
	}
	written, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	want := [][]string{
		{`"level":"RequestResponse"`, `"verb":"create"`, `"resource":"configmaps"`, `"name":"shown"`,
			`"requestObject":{"kind":"ConfigMap"`, `"responseObject":{"kind":"ConfigMap"`, "visible"},
		{`"level":"Metadata"`, `"verb":"create"`, `"resource":"secrets"`, `"name":"hidden"`, `"code":201`},
		{`"level":"RequestResponse"`, `"verb":"delete"`, `"requestObject":{"kind":"DeleteOptions"`,
			`"responseObject":{"kind":"Status"`},
	}
	if len(lines) != len(want) || strings.Contains(lines[1], "aW52aXNpYmxl") {
		t.Fatalf("got %s", written)
	}
	for i, parts := range want {
		for _, p := range parts {
			if !strings.Contains(lines[i], p) {
				t.Errorf("event %d has no %s: %s", i+1, p, lines[i])
			}
		}
	}
}
