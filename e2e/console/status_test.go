package console

import (
	"os/exec"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.KubectlIn(t, overlapping, "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Available=false", "apiservice/v9.example.com",
		"apiservice/v1.hidden.example.com")
	// shown is what status prints, with single spaces.
	shown := func() string { return strings.Join(strings.Fields(run(t, s, "status")), " ") }
	out := shown()
	for _, part := range []string{"ready yes", "version v1.37", "kube-apiserver, ",
		"unavailable v9.example.com at default/absent:8443", "store 0.", "memory ", "busiest "} {
		if !strings.Contains(out, part) {
			t.Errorf("the status lacks %q:\n%s", part, out)
		}
	}

	// Somebody without rights sees what anybody may.
	s.Kubectl(t, "config", "set-credentials", "jane", "--token", "jane-token")
	s.Kubectl(t, "config", "set-context", "--current", "--user", "jane")
	if out = shown(); !strings.Contains(out, "ready yes") || strings.Contains(out, "chain") ||
		strings.Contains(out, "memory") {
		t.Errorf("jane is shown:\n%s", out)
	}
}

// A server that does not answer is an error that says where it was looked for.
func TestStatusOfNobody(t *testing.T) {
	t.Parallel()
	p, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(p.Triplane, "status", "--data-dir", t.TempDir(), "--kubeconfig",
		"/nowhere/admin.kubeconfig").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/nowhere/admin.kubeconfig") {
		t.Errorf("the status of nobody: %v\n%s", err, out)
	}
}
