// The commands of the README, on the embedded store and on an etcd process.

package kubectl

import (
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// TestWalkthrough does what the README asks of a new user.
func TestWalkthrough(t *testing.T) {
	walkthrough(t, harness.Start(t))
}

// TestWalkthroughOnExternalEtcd does the same on an etcd process.
func TestWalkthroughOnExternalEtcd(t *testing.T) {
	walkthrough(t, harness.Start(t, "--etcd-servers", harness.StartEtcd(t)))
}

func walkthrough(t *testing.T, s *harness.Server) {
	steps := []struct {
		args []string
		want []string
	}{
		{[]string{"get", "ns"}, []string{"default", "kube-system", "Active"}},
		{[]string{"apply", "-f", "../testdata/walkthrough.yaml"}, []string{
			"namespace/shop created", "configmap/settings created", "secret/password created",
			"service/web created", "deployment.apps/web created"}},
		{[]string{"apply", "-f", "../testdata/walkthrough.yaml"}, []string{"deployment.apps/web unchanged"}},
		{[]string{"get", "deploy,svc,cm", "-n", "shop"},
			[]string{"deployment.apps/web", "0/2", "service/web", "ClusterIP", "configmap/settings"}},
		{[]string{"get", "secret", "password", "-n", "shop", "-o", "jsonpath={.data.password}"},
			[]string{"b3BlbnNlc2FtZQ=="}},
		{[]string{"apply", "-f", "../testdata/widgets-crd.yaml"}, []string{"customresourcedefinition.apiextensions.k8s.io/widgets.example.com created"}},
		{[]string{"wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s"},
			[]string{"condition met"}},
		{[]string{"apply", "-f", "../testdata/widget.yaml"}, []string{"widget.example.com/gear created"}},
		{[]string{"get", "widgets", "-n", "shop"}, []string{"NAME", "SIZE", "gear", "3"}},
		{[]string{"get", "wd", "gear", "-n", "shop", "-o", "jsonpath={.spec.colour}"}, []string{"blue"}},
		{[]string{"explain", "widget.spec"}, []string{"What the widget shall be.", "How many of it.", "-required-"}},
		{[]string{"explain", "deployment.spec.replicas"},
			[]string{"FIELD: replicas <integer>", "Number of desired pods."}},
		{[]string{"scale", "widget", "gear", "-n", "shop", "--replicas=5"}, []string{"scaled"}},
		{[]string{"get", "widget", "gear", "-n", "shop", "-o", "jsonpath={.spec.size}"}, []string{"5"}},
		{[]string{"api-resources", "--api-group=example.com"}, []string{"widgets", "wd", "example.com/v1", "Widget"}},
		{[]string{"get", "apiservices", "v1.example.com"}, []string{"Local", "True"}},
		{[]string{"delete", "-f", "../testdata/widgets-crd.yaml", "--timeout=20s"}, []string{"deleted"}},
	}
	for _, step := range steps {
		out := s.Kubectl(t, step.args...)
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("kubectl %s: no %q in:\n%s", strings.Join(step.args, " "), want, out)
			}
		}
	}
	refusals := []struct {
		args []string
		want string
	}{
		{[]string{"get", "--raw", "/nothing/here"}, "NotFound"},
		{[]string{"get", "widgets", "-n", "shop"}, "the server could not find the requested resource"},
		{[]string{"apply", "-f", "../testdata/widget.yaml"}, "the server could not find the requested resource"},
	}
	for _, r := range refusals {
		out, err := s.TryKubectl(t, "", r.args...)
		if err == nil || !strings.Contains(out, r.want) {
			t.Errorf("kubectl %s: %v, no %q in:\n%s", strings.Join(r.args, " "), err, r.want, out)
		}
	}
}
