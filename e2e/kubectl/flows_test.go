// What people do with kubectl: labels, patches, scale, server-side apply, diff, permissions.

package kubectl

import (
	"os"
	"path/filepath"
	"testing"

	"triplane.dev/e2e/harness"
)

// TestKubectlFlows does with kubectl what people do with it.
func TestKubectlFlows(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	shop := func(args ...string) string { return s.Kubectl(t, append(args, "-n", "shop")...) }
	harness.Expect(t, shop("create", "configmap", "a", "--from-literal=k=v"), "configmap/a created")
	harness.Expect(t, shop("label", "cm/a", "tier=front"), "labeled")
	harness.Expect(t, shop("annotate", "cm/a", "note=x"), "annotated")
	harness.Expect(t, shop("get", "cm", "-l", "tier=front", "-o", "name"), "configmap/a")
	harness.Expect(t, shop("patch", "cm/a", "--type=merge", "-p", `{"data":{"m":"1"}}`), "patched")
	harness.Expect(t, shop("patch", "cm/a", "--type=json", "-p", `[{"op":"add","path":"/data/j","value":"2"}]`),
		"patched")
	harness.Expect(t, shop("patch", "deploy/web", "--type=strategic", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`), "patched")
	harness.Expect(t, shop("get", "deploy/web", "-o", "jsonpath={.spec.template.spec.containers[0].image} {.metadata.generation}"), "web:2 2")
	harness.Expect(t, shop("scale", "deploy/web", "--replicas=4"), "scaled")
	harness.Expect(t, shop("get", "deploy/web", "-o", "jsonpath={.spec.replicas}"), "4")
	harness.Expect(t, shop("apply", "--server-side", "--field-manager=e2e", "-f", manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {k: v}\n")), "serverside-applied")
	harness.Expect(t, shop("get", "cm", "ssa", "-o", "jsonpath={.metadata.managedFields[0].manager}",
		"--show-managed-fields"), "e2e")
	out, err := s.TryKubectl(t, "", "diff", "-n", "shop", "-f", manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {k: w}\n"))
	if err == nil {
		t.Errorf("diff found nothing:\n%s", out)
	}
	harness.Expect(t, out, "-  k: v", "+  k: w")
	harness.Expect(t, shop("replace", "--force", "-f", manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {m: '1'}\n")), "replaced")
	harness.Expect(t, shop("wait", "--for=jsonpath={.data.m}=1", "cm/ssa", "--timeout=5s"), "condition met")
	harness.Expect(t, s.Kubectl(t, "auth", "can-i", "create", "pods"), "yes")
	harness.Expect(t, s.Kubectl(t, "auth", "whoami"), "system:masters")
	if out, err := s.TryKubectl(t, "", "auth", "can-i", "list", "secrets", "-n", "shop", "--as=nobody"); err == nil ||
		out != "no\n" {
		t.Errorf("nobody may list secrets: %v %s", err, out)
	}
	harness.Expect(t, s.Kubectl(t, "version"), "Server Version: v1.37")
	harness.Expect(t, shop("delete", "deploy/web", "--cascade=orphan", "--wait=false"), "deleted")
	harness.Expect(t, shop("delete", "cm", "--all"), `"a" deleted`)
}

// manifest writes a manifest and returns its path.
func manifest(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
