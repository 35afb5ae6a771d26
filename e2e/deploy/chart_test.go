// The chart: each mode is linted, rendered, parsed and applied; wrong values are rejected; a release is installed,
// upgraded and rolled back.

package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"triplane.dev"
	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
)

const chartDir = "../../deploy/chart"

// chartModes are values of the chart by the way to use it.
var chartModes = map[string][]string{
	"one":   nil,
	"three": {"replicas=3", "store.volume.storageClass=fast", "store.volume.size=1.5Ti", "keys.secret=own"},
	"etcd":  {"replicas=2", "store.type=etcd", "store.etcd.servers={https://etcd-0.etcd:2379,https://etcd-1.etcd:2379}", "store.etcd.secret=etcd", "controllers=none"},
	// The etcd of another API server, with another prefix.
	"shared": {"store.type=etcd", "store.etcd.servers={http://etcd.kube-system.svc:2379}",
		"extraArgs={--etcd-prefix=/other,--v=3}", "podDisruptionBudget.enabled=false"},
	"sql": {"store.type=postgres", "store.postgres.url=postgres://triplane@db.example.com/triplane?sslmode=verify-full", "store.postgres.passwordSecret=db"},
	"all": {
		"hostname=api.example.com", "tls.hosts={api.example.com}", "tls.issuer.name=company",
		"tls.issuer.kind=ClusterIssuer",
		"serviceMonitor.enabled=true", "serviceMonitor.tokenSecret=prometheus",
		"serviceMonitor.labels.release=monitoring",
		"service.type=LoadBalancer", "service.port=443", "service.annotations.example\\.com/pool=public",
		"image.repository=registry.example.com/triplane", "image.tag=v1.2.3", "image.pullSecrets={registry}",
		"topologySpread.whenUnsatisfiable=ScheduleAnyway", "priorityClassName=system-cluster-critical",
		"podLabels.team=api", "podAnnotations.example\\.com/note=x", "nodeSelector.disk=fast",
		"tolerations[0].operator=Exists",
		"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
		"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key=a",
		"affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].operator=Exists",
		"extraEnv[0].name=GOMEMLIMIT", "extraEnv[0].value=1GiB",
		"extraVolumes[0].name=audit", "extraVolumes[0].configMap.name=audit",
		"extraVolumeMounts[0].name=audit", "extraVolumeMounts[0].mountPath=/etc/audit",
		"extraArgs={--audit-policy-file=/etc/audit/policy.yaml}",
	},
}

// helm runs Helm with values, as the administrator of a server if there is one.
func helm(t *testing.T, s *harness.Server, values []string, args ...string) (string, error) {
	t.Helper()
	for _, v := range values {
		args = append(args, "--set", v)
	}
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, programs.Helm), args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if s != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+s.Kubeconfig)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// render returns the manifest of a release named triplane.
func render(t *testing.T, namespace string, values ...string) string {
	t.Helper()
	out, err := helm(t, nil, values, "template", "triplane", chartDir, "--namespace", namespace)
	if err != nil {
		t.Fatalf("helm template with %v: %v\n%s", values, err, out)
	}
	return out
}

// pods returns the templates of pods in a manifest by the kind and the name of their objects.
func pods(t *testing.T, manifest string) map[string]corev1.PodSpec {
	t.Helper()
	found := map[string]corev1.PodSpec{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var object struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object.Spec.Template.Spec.Containers) == 1 {
			found[object.Kind+"/"+object.Name] = object.Spec.Template.Spec
		}
	}
	return found
}

// servers returns the pods of a release's servers.
func servers(t *testing.T, manifest string) corev1.PodSpec {
	t.Helper()
	all := pods(t, manifest)
	if pod, ok := all["StatefulSet/triplane"]; ok {
		return pod
	}
	pod, ok := all["Deployment/triplane"]
	if !ok {
		t.Fatalf("no servers in\n%s", manifest)
	}
	return pod
}

func TestChartModes(t *testing.T) {
	s, _ := harness.StartControlled(t)
	crds := map[string]string{
		"github.com/cert-manager/cert-manager@v1.21.2":               "deploy/crds/cert-manager.io_certificates.yaml",
		"github.com/prometheus-operator/prometheus-operator@v0.85.0": "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	}
	for module, file := range crds {
		s.Kubectl(t, "create", "-f", filepath.Join(harness.Module(t, module), file))
	}
	s.Kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/certificates.cert-manager.io",
		"crd/servicemonitors.monitoring.coreos.com")
	for name, values := range chartModes {
		if out, err := helm(t, nil, values, "lint", "--strict", chartDir); err != nil {
			t.Errorf("%s: helm lint: %v\n%s", name, err, out)
		}
		manifest := render(t, name, values...)
		args := servers(t, manifest).Containers[0].Args
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "$(POD_NAME)", "triplane-0")
		}
		if _, err := triplane.Parse("", args, io.Discard); err != nil {
			t.Errorf("%s: %v: %v", name, args, err)
		}
		s.Kubectl(t, "create", "namespace", name)
		for _, mode := range []string{"enforce", "warn"} { // applying a workload warns of its pods
			s.Kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/"+mode+"=restricted")
		}
		if out := s.KubectlIn(t, manifest, "apply", "--server-side", "--validate=strict", "-f",
			"-"); strings.Contains(out, "Warning") {
			t.Errorf("%s: %s", name, out)
		}
	}
	harness.Expect(t, s.Kubectl(t, "get", "servicemonitor,certificate", "-n", "all", "-o", "name"),
		"servicemonitor.monitoring.coreos.com/triplane", "certificate.cert-manager.io/triplane")
}

func TestChartRejectsWrongValues(t *testing.T) {
	for values, want := range map[string]string{
		"replicas=2":                                   "use 1, 3 or 5",
		"replicas=many":                                "at '/replicas': got string, want integer",
		"store.type=mysql":                             "value must be one of 'embedded', 'etcd', 'postgres'",
		"store.type=etcd":                              "store.type etcd needs store.etcd.servers",
		"store.etcd.servers={etcd:2379}":               "'etcd:2379' does not match pattern '^https?://",
		"store.etcd.servers={https://a:2379}":          "set store.etcd.secret to a Secret with ca.crt",
		"store.type=postgres":                          "store.type postgres needs store.postgres.url",
		"store.postgres.url=postgres://a:secret@db/a":  "set store.postgres.passwordSecret",
		"store.volume.size=big":                        "at '/store/volume/size': 'big' does not match pattern",
		"tls.issuer.name=company":                      "tls.issuer needs tls.hosts",
		"tls.issuer.name=a,tls.secret=b,tls.hosts={c}": "tls.issuer and tls.secret exclude each other",
		"serviceMonitor.enabled=true":                  "needs serviceMonitor.tokenSecret",
		"extraArgs={v=3}":                              "'v=3' does not match pattern '^--",
		"service.typ=NodePort":                         "additional properties 'typ' not allowed",
		"controllers=":                                 "at '/controllers': minLength: got 0, want 1",
	} {
		out, err := helm(t, nil, []string{values}, "template", "triplane", chartDir)
		if err == nil || !strings.Contains(out, want) || strings.Contains(out, "secret@") {
			t.Errorf("%s: %v, want %q\n%s", values, err, want, out)
		}
	}
	if out, err := helm(t, nil, nil, "template", strings.Repeat("a", 41), chartDir); err == nil ||
		!strings.Contains(out, "at most 40 characters") {
		t.Errorf("a long name: %v\n%s", err, out)
	}
}

// TestChartReleases installs, upgrades and rolls back a release. Its workloads are simulated, with all but their
// processes.
func TestChartReleases(t *testing.T) {
	s := harness.Start(t, "--controllers=*", "--simulate-workloads")
	s.Kubectl(t, "create", "namespace", "api")
	s.Kubectl(t, "label", "namespace", "api", "pod-security.kubernetes.io/enforce=restricted")
	run := func(args ...string) string {
		t.Helper()
		out, err := helm(t, s, nil, append(args, "--namespace", "api", "--timeout", "60s")...)
		if err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, out)
		}
		return out
	}
	set := func() string {
		t.Helper()
		return s.Kubectl(t, "get", "statefulset/triplane", "-n", "api", "-o", "jsonpath={.metadata.uid} {.spec.replicas} {.status.updateRevision}")
	}
	harness.Expect(t, run("install", "triplane", chartDir, "--wait"),
		"exec triplane-0 -- triplane kubeconfig --data-dir /data", "triplane member list")
	if left := s.Kubectl(t, "get", "job,role,rolebinding,serviceaccount", "-n", "api", "-o",
		"name"); strings.TrimSpace(left) != "serviceaccount/default" {
		t.Errorf("hooks remain: %s", left)
	}
	one := set()
	run("upgrade", "triplane", chartDir, "--wait", "--reuse-values", "--set", "replicas=3")
	// Neither is the StatefulSet another one, nor is the first server restarted.
	if three, want := set(), strings.Replace(one, " 1 ", " 3 ", 1); three != want {
		t.Errorf("after the upgrade, the StatefulSet is %s, want %s", three, want)
	}
	claims := s.Kubectl(t, "get", "persistentvolumeclaims", "-n", "api", "-o", "name")
	harness.Expect(t, claims, "data-triplane-0", "data-triplane-1", "data-triplane-2")
	if jobs := s.Kubectl(t, "get", "events", "-n", "api", "-o",
		"jsonpath={.items[?(@.involvedObject.kind=='Job')].reason}"); strings.Count(jobs, "SuccessfulCreate") > 1 {
		t.Errorf("the upgrade ran a hook: %s", jobs)
	}
	run("rollback", "triplane", "1", "--wait")
	if back := set(); back != one {
		t.Errorf("after the rollback, the StatefulSet is %s, want %s", back, one)
	}
	run("uninstall", "triplane", "--wait")
	if after := s.Kubectl(t, "get", "persistentvolumeclaims", "-n", "api", "-o", "name"); after != claims {
		t.Errorf("claims after the uninstallation: %s", after)
	}
}

// TestChartKeys runs the Job of the keys as its service account, twice, and the container that copies them.
func TestChartKeys(t *testing.T) {
	s, client := harness.StartControlled(t)
	s.Kubectl(t, "create", "namespace", "api")
	manifest := render(t, "api")
	s.KubectlIn(t, manifest, "apply", "-f", "-")
	account := accountKubeconfig(t, s, "api", "triplane-keys")
	run := func(container corev1.Container, replaced ...string) string {
		t.Helper()
		args := strings.Split(strings.NewReplacer(replaced...).Replace(strings.Join(container.Args, "\n")), "\n")
		out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("triplane %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	job := pods(t, manifest)["Job/triplane-keys"].Containers[0]
	job.Args = append(job.Args, "--kubeconfig="+account)
	harness.Expect(t, run(job, "/data", t.TempDir()), "Secret api/triplane-keys created")
	first := secretData(t, client, "api", "triplane-keys")
	harness.Expect(t, run(job, "/data", t.TempDir()), "Secret api/triplane-keys kept, because it exists")
	if second := secretData(t, client, "api", "triplane-keys"); fmt.Sprint(first) != fmt.Sprint(second) ||
		len(first) != 10 {
		t.Errorf("the keys changed, or are not ten but %d", len(first))
	}
	out, err := exec.CommandContext(t.Context(), s.Programs.Kubectl, "--kubeconfig", account, "get", "secrets", "-n",
		"api").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "Forbidden") {
		t.Errorf("the Job may read Secrets: %v %s", err, out)
	}
	mounted, data := t.TempDir(), t.TempDir()
	for name, content := range first {
		if err := os.WriteFile(filepath.Join(mounted, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(servers(t, manifest).InitContainers[0], "/data", data, "/etc/triplane/keys", mounted)
	copied, err := os.ReadFile(filepath.Join(data, "pki", "etcd", "peer-ca.key"))
	if err != nil || !bytes.Equal(copied, first["etcd-peer-ca.key"]) {
		t.Errorf("the copied keys differ: %v", err)
	}
}

func secretData(t *testing.T, client kubernetes.Interface, namespace, name string) map[string][]byte {
	t.Helper()
	secret, err := client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("the Secret %s can be changed", name)
	}
	return secret.Data
}
