// A sample API server behind the aggregator.

package extensions

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
)

const wardle = `
apiVersion: v1
kind: Namespace
metadata: {name: wardle}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: wardle}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.wardle.example.com}
spec:
  group: wardle.example.com
  version: v1alpha1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {name: api, namespace: wardle, port: %d}
`

const flunder = `
apiVersion: wardle.example.com/v1alpha1
kind: Flunder
metadata: {name: f, namespace: wardle}
spec: {reference: other, referenceType: Flunder}
`

var upstream = flag.Bool("upstream", false, "run the API server of k8s.io/sample-apiserver, not the one of this project")

// startSample starts cmd/sample-apiserver, or the API server of k8s.io/sample-apiserver and an etcd for it.
func startSample(t *testing.T, core *harness.Server, port int, theirs bool) *harness.Process {
	t.Helper()
	args := []string{"--secure-port", fmt.Sprint(port), "--bind-address", "127.0.0.1", "--cert-dir", t.TempDir(),
		"--kubeconfig", core.Kubeconfig, "--authentication-kubeconfig", core.Kubeconfig, "--authorization-kubeconfig",
		core.Kubeconfig}
	if theirs {
		return harness.StartProgram(t, harness.Tool(t, programs.SampleAPIServer),
			append(args, "--etcd-servers", harness.StartEtcd(t))...)
	}
	return harness.StartProgram(t, core.Programs.OwnSampleAPIServer, append(args, "--data-dir", t.TempDir())...)
}

// TestExternalAPIServer registers a sample API server and uses its resources through this one.
func TestExternalAPIServer(t *testing.T) {
	t.Parallel() // it waits for the next check of a server that has ended
	s := harness.Start(t)
	port := harness.FreePort(t)
	sample := startSample(t, s, port, *upstream)
	s.KubectlIn(t, fmt.Sprintf(wardle, port), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Available", "apiservice/v1alpha1.wardle.example.com", "--timeout=60s")

	harness.Expect(t, s.KubectlIn(t, flunder, "apply", "-f", "-"), "flunder.wardle.example.com/f created")
	harness.Expect(t, s.Kubectl(t, "get", "flunders", "-n", "wardle"), "f ")
	harness.Expect(t, s.Kubectl(t, "api-resources", "--api-group=wardle.example.com"), "flunders", "fischers")
	harness.Expect(t, s.Kubectl(t, "get", "--raw", "/apis"), "wardle.example.com")
	harness.Eventually(t, func() error {
		out, err := s.TryKubectl(t, "", "explain", "flunder.spec.reference")
		if err != nil || !strings.Contains(out, "FIELD: reference <string>") {
			return fmt.Errorf("explain: %w\n%s", err, out)
		}
		return nil
	})
	watchFlunders(t, s)

	sample.Kill()
	harness.Eventually(t, func() error {
		out := s.Kubectl(t, "get", "apiservice", "v1alpha1.wardle.example.com")
		if !strings.Contains(out, "False (FailedDiscoveryCheck)") {
			return fmt.Errorf("still:\n%s", out)
		}
		return nil
	})
	flunders := dynamic.NewForConfigOrDie(s.Config).Resource(flunderResource).Namespace("wardle")
	if _, err := flunders.List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list from a dead server: %v", err)
	}
	harness.Expect(t, s.Kubectl(t, "get", "ns", "wardle"), "Active") // the others are not harmed
}

var flunderResource = schema.GroupVersionResource{Group: "wardle.example.com", Version: "v1alpha1",
	Resource: "flunders"}

func watchFlunders(t *testing.T, s *harness.Server) {
	t.Helper()
	flunders := dynamic.NewForConfigOrDie(s.Config).Resource(flunderResource).Namespace("wardle")
	list, err := flunders.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	w, err := flunders.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	s.Kubectl(t, "delete", "flunder", "f", "-n", "wardle")
	select {
	case e := <-w.ResultChan():
		if e.Type != "DELETED" {
			t.Errorf("event %s", e.Type)
		}
	case <-time.After(10 * time.Second):
		t.Error("no event of the deletion")
	}
}
