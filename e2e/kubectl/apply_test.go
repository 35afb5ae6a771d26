// Applies and edits, from the client and on the server, with changes of others between them.

package kubectl

import (
	"os"
	"path/filepath"
	"testing"

	"triplane.dev/e2e/harness"
)

// settings is a config map as YAML.
func settings(data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: " + data + "\n"
}

// TestKubectlApply applies from the client and on the server, with changes of
// side between them.
func TestKubectlApply(t *testing.T) {
	s := harness.Start(t)
	data := words("get cm settings -o jsonpath={.data}")
	managers := words("get cm settings --show-managed-fields -o jsonpath={range.metadata.managedFields[*]}{.manager}={.operation};{end}")
	flow(t, s, "default", []step{
		// On the client: fields that are left out go away, others' stay.
		{args: words("apply -f -"), stdin: settings("{a: one, b: two}"), want: []string{"configmap/settings created"}},
		{args: words("apply -f -"), stdin: settings("{a: one, b: two}"),
			want: []string{"configmap/settings unchanged"}},
		{args: words("patch cm settings -p {\"data\":{\"other\":\"x\"}}"), want: []string{"patched"}},
		{args: words("apply -f -"), stdin: settings("{a: one}"), want: []string{"configmap/settings configured"}},
		{args: data, want: []string{`{"a":"one","other":"x"}`}},
		{args: words("apply view-last-applied cm/settings"), want: []string{"a: one"}, not: []string{"other"}},
		{args: words("diff -f -"), stdin: settings("{a: three}"), fails: true,
			want: []string{"-  a: one", "+  a: three"}},
		{args: words("diff -f -"), stdin: settings("{a: one}"), not: []string{"a: one"}},
		{args: words("apply -f - --dry-run=server"), stdin: settings("{a: dry}"),
			want: []string{"configured (server dry run)"}},
		{args: data, want: []string{`"a":"one"`}},
		// To the server: what was applied on the client is taken over, so that
		// leaving it out removes it.
		{args: words("apply --server-side -f -"), stdin: settings("{a: one, c: four}"),
			want: []string{"serverside-applied"}},
		{args: managers, want: []string{"kubectl=Apply;"}, not: []string{"kubectl-client-side-apply"}},
		{args: words("apply --server-side -f -"), stdin: settings("{c: four}"), want: []string{"serverside-applied"}},
		{args: data, want: []string{`{"c":"four","other":"x"}`}},
		// Conflicts name the other manager; force takes the field.
		{args: words("apply --server-side --field-manager=ci -f -"), stdin: settings("{c: five}"), fails: true,
			want: []string{`Apply failed with 1 conflict: conflict with "kubectl": .data.c`, "--force-conflicts"}},
		{args: words("apply --server-side --field-manager=ci --force-conflicts -f -"), stdin: settings("{c: five}"), want: []string{"serverside-applied"}},
		{args: words("apply --server-side -f -"), stdin: settings("{c: four}"), fails: true,
			want: []string{`conflict with "ci": .data.c`}},
		{args: words("apply --server-side -f -"), stdin: settings("{c: five, d: six}"),
			want: []string{"serverside-applied"}},
		{args: words("diff --server-side --field-manager=ci --force-conflicts -f -"), stdin: settings("{c: seven}"), fails: true, want: []string{"-  c: five", "+  c: seven"}},
		{args: managers, want: []string{"ci=Apply;", "kubectl=Apply;"}},
		// And back to the client.
		{args: words("apply -f -"), stdin: settings("{c: eight}"), want: []string{"configmap/settings configured"}},
		{args: data, want: []string{`"c":"eight"`}},
		{args: words("apply --server-side -f -"), stdin: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: x}\n", fails: true, want: []string{"spec.replicas"}},
		{args: words("apply -f -"), stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typo}\ndatas: {a: b}\n", fails: true, want: []string{`unknown field "datas"`}},
		{args: words("apply -f - --validate=warn"), stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typo}\ndatas: {a: b}\n", want: []string{`unknown field "datas"`, "created"}},
		{args: words("apply -f - --prune -l app=pruned --prune-allowlist=core/v1/ConfigMap"), want: []string{"configmap/first created"},
			stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, labels: {app: pruned}}\n"},
		{args: words("apply -f - --prune -l app=pruned --prune-allowlist=core/v1/ConfigMap"), want: []string{"configmap/second created", "configmap/first pruned"},
			stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, labels: {app: pruned}}\n"},
	})
}

// TestKubectlEdit edits with scripts for editors.
func TestKubectlEdit(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "create", "deployment", "web", "--image=web:1")
	editor(t, `sed -i 's/web:1/web:2/; s/replicas: 1/replicas: 3/' "$1"`)
	flow(t, s, "default", []step{
		{args: words("edit deploy/web"), want: []string{"deployment.apps/web edited"}},
		{args: words("get deploy web -o jsonpath={..image}:{.spec.replicas}"), want: []string{"web:2:3"}},
		{args: words("edit deploy/web"), want: []string{"Edit cancelled, no changes made"}},
	})
	editor(t, `sed -i 's/web:2/web:3/' "$1"`)
	flow(t, s, "default", []step{{args: words("edit deploy/web -o json --save-config"),
		want: []string{`"image": "web:3"`, "last-applied-configuration"}}})
	// A mistake is explained in the file, which is opened again; a second look without
	// changes gives up.
	editor(t, `sed -i 's/replicas: 3/replicas: -3/' "$1"`)
	flow(t, s, "default", []step{
		{args: words("edit deploy/web"), fails: true, want: []string{"is invalid", "no valid changes were saved"}},
		{args: words("get deploy web -o jsonpath={.spec.replicas}"), want: []string{"3"}},
	})
	editor(t, `sed -i 's/"*phase"*: .*/phase: Running/; s/^status:.*/status: {replicas: 2}/; /^  *observedGeneration/d' "$1"`)
	flow(t, s, "default", []step{{args: words("edit deploy/web --subresource=status"), want: []string{"edited"}}})
}

// editor makes a shell script the editor of kubectl.
func editor(t *testing.T, script string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBE_EDITOR", file)
}
