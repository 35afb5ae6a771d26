// Deletions with each treatment of dependents, waits, and watches of kubectl get.

package kubectl

import (
	"testing"
	"time"

	"triplane.dev/e2e/harness"
)

// TestKubectlDelete deletes with each way of treating dependents. No controllers
// run, so what is left to them shows in the objects.
func TestKubectlDelete(t *testing.T) {
	s := harness.Start(t)
	marks := words("get deploy web -o jsonpath={.metadata.finalizers}{.metadata.deletionTimestamp}")
	create := step{args: words("create deployment web --image=web:1"), want: []string{"created"}}
	gone := step{args: words("get deploy web"), fails: true, want: []string{`deployments.apps "web" not found`}}
	release := step{args: words(`patch deploy web --type=merge -p {"metadata":{"finalizers":null}}`)}
	flow(t, s, "default", []step{
		create,
		{args: words("delete deploy web"), want: []string{`deployment.apps "web" deleted`}}, gone, create,
		{args: words("delete deploy web --cascade=foreground --wait=false"), want: []string{"deleted"}},
		{args: marks, want: []string{`["foregroundDeletion"]20`}},
		{args: words("delete deploy web --wait=false --cascade=foreground"), want: []string{"deleted"}},
		release, gone, create,
		{args: words("delete deploy web --cascade=orphan --wait=false"), want: []string{"deleted"}},
		{args: marks, want: []string{`["orphan"]20`}},
		{args: words("label deploy web still=here"), want: []string{"labeled"}},
		{args: words(`patch deploy web --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"example.com/x"}]`), fails: true,
			want: []string{"no new finalizers can be added if the object is being deleted"}},
		release, gone, create,
		{args: words("delete deploy web --dry-run=server"),
			want: []string{"deleted from default namespace (server dry run)"}},
		{args: words("delete deploy web --cascade=background --now"), want: []string{"deleted"}}, gone,
		{args: words("delete deploy web --ignore-not-found")},
		{args: words("delete deploy web"), fails: true, want: []string{"NotFound"}},
		{args: words("create cm a --from-literal=k=v")}, {args: words("create cm b")}, {args: words("create cm c")},
		{args: words("label cm a b tier=x")},
		{args: words("delete cm -l tier=x"), want: []string{`configmap "a" deleted`, `configmap "b" deleted`},
			not: []string{`"c"`}},
		{args: words("delete cm --field-selector=metadata.name=c"), want: []string{`configmap "c" deleted`}},
		{args: words("create serviceaccount default")},
		{args: words("run one --image=i:1 --restart=Never")},
		{args: words("delete pod one --grace-period=0 --force"), want: []string{"force deleted"}},
		{args: words("replace --force -f -"), stdin: settings("{a: b}"), want: []string{"configmap/settings replaced"}},
		{args: words("get cm settings -o jsonpath={.metadata.resourceVersion}")},
		{args: words("replace -f -"), fails: true, want: []string{"Conflict", "the object has been modified"},
			stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, resourceVersion: '1'}\n"},
		{args: words("delete --raw /api/v1/namespaces/default/configmaps/settings"), want: []string{`"status":"Success"`}},
	})
	flow(t, s, "", []step{
		{args: words("create ns short")},
		{args: words("delete ns short --wait=false"), want: []string{`namespace "short" deleted`}},
		{args: words("get ns short -o jsonpath={.status.phase}"), want: []string{"Terminating"}},
		{args: words("create cm late -n short"), fails: true, want: []string{"because it is being terminated"}},
	})
}

// TestKubectlWait waits for things that happen while it does.
func TestKubectlWait(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "create", "deployment", "web", "--image=web:1")
	waits := []struct {
		wait, then, want string
	}{
		{"wait deploy/web --for=condition=Available", `patch deploy web --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Available","status":"True"}]}}`, "condition met"},
		{"wait deploy/web --for=condition=Available=false", `patch deploy web --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Available","status":"False"}]}}`, "condition met"},
		{"wait deploy/web --for=jsonpath={.spec.replicas}=4", "scale deploy web --replicas=4", "condition met"},
		{"wait cm/later --for=create", "create cm later", "condition met"},
		{"wait deploy -l app=web --for=delete", "delete deploy web", ""},
	}
	for _, w := range waits {
		p := harness.StartProgram(t, s.Programs.Kubectl,
			append([]string{"--kubeconfig", s.Kubeconfig, "--timeout=20s"}, words(w.wait)...)...)
		time.Sleep(300 * time.Millisecond) // time to begin to wait; if it is too short, the wait has less to do
		flow(t, s, "default", []step{{args: words(w.then)}})
		if err := p.Wait(t, 20*time.Second); err != nil {
			t.Errorf("%s: %v\n%s", w.wait, err, p.Output())
		}
		harness.Expect(t, p.Output(), w.want)
	}
	flow(t, s, "default", []step{{args: words("wait cm/later --for=jsonpath={.data.x}=y --timeout=100ms"), fails: true,
		want: []string{"timed out waiting"}}})
}

// TestKubectlGetWatch follows a list with its changes.
func TestKubectlGetWatch(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "create", "cm", "a", "--from-literal=k=v")
	for _, out := range []string{"wide", "json"} {
		p := harness.StartProgram(t, s.Programs.Kubectl, "--kubeconfig", s.Kubeconfig, "get", "cm", "-n", "default",
			"-w", "--output-watch-events", "-o", out)
		name := "w-" + out
		harness.Eventually(t, func() error { return contains(p.Output(), "ADDED", "a") })
		flow(t, s, "default", []step{{args: words("create cm " + name)}, {args: words("label cm " + name + " x=y")},
			{args: words("delete cm " + name)}})
		harness.Eventually(t, func() error { return contains(p.Output(), name, "MODIFIED", "DELETED") })
		p.Kill()
	}
	p := harness.StartProgram(t, s.Programs.Kubectl, "--kubeconfig", s.Kubeconfig, "get", "cm", "a", "-n", "default",
		"--watch-only", "--no-headers")
	harness.Eventually(t, func() error {
		flow(t, s, "default", []step{{args: words(`patch cm a --type=merge -p {"data":{"l":"w","k":null}}`)},
			{args: words(`patch cm a --type=merge -p {"data":{"k":"v"}}`)}})
		return contains(p.Output(), "a     2")
	})
}
