// Command lines and objects of the files in deploy/, and the systemd notification.

package deploy

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"triplane.dev"
	"triplane.dev/e2e/harness"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// deployedArgs are the arguments of the program in the last document of a manifest, a pod or
// what has a template of one.
func deployedArgs(t *testing.T, manifest string) []string {
	t.Helper()
	documents := strings.Split(deployFile(t, manifest), "\n---\n")
	var object struct {
		Spec struct {
			corev1.PodSpec `json:",inline"`
			Template       corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(documents[len(documents)-1]), &object); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	containers := append(object.Spec.Containers, object.Spec.Template.Spec.Containers...)
	if len(containers) != 1 {
		t.Fatalf("%s has %d containers", manifest, len(containers))
	}
	if command := containers[0].Command; len(command) > 0 {
		return command[1:]
	}
	return containers[0].Args
}

// serviceArgs are the arguments in the unit of systemd.
func serviceArgs(t *testing.T) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(deployFile(t, "systemd/triplane.service")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(options, func(o *unit.UnitOption) bool {
		return o.Section == "Service" && o.Name == "ExecStart"
	})
	if i < 0 {
		t.Fatal("the unit starts nothing")
	}
	return strings.Fields(strings.TrimSuffix(options[i].Value, " $TRIPLANE_FLAGS"))[1:]
}

// imageArgs are the arguments that the image has unless others are given.
func imageArgs(t *testing.T) (args []string) {
	t.Helper()
	dockerfile := deployFile(t, "Dockerfile")
	_, cmd, _ := strings.Cut(dockerfile, "\nCMD ")
	if err := json.Unmarshal([]byte(cmd), &args); err != nil {
		t.Fatalf("CMD %s: %v", cmd, err)
	}
	for _, want := range []string{"\nRUN make build ", "\nFROM scratch\n", "\nUSER 65532:65532\n",
		"\nENTRYPOINT [\"triplane\"]\n"} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	return args
}

// TestDeployedCommandLines parses what the image, the unit and the manifests start.
func TestDeployedCommandLines(t *testing.T) {
	for name, args := range map[string][]string{
		"image":      imageArgs(t),
		"systemd":    serviceArgs(t),
		"static pod": deployedArgs(t, "static-pod/kube-apiserver.yaml"),
	} {
		if len(args) == 0 {
			t.Errorf("%s: no arguments", name)
		}
		if _, err := triplane.Parse("", args, io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKubeadmPatch makes of kubeadm's static pod the one that is there to be read.
func TestKubeadmPatch(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(deployFile(t, "static-pod/kube-apiserver.yaml")), &pod); err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	pod.Spec.Containers[0].Image = "registry.k8s.io/kube-apiserver:v1.36.0"
	pod.Spec.Containers[0].SecurityContext = nil
	original, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON([]byte(deployFile(t, "static-pod/kube-apiserver0+strategic.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(&got, want) {
		t.Errorf("patched:\n%s", patched)
	}
}

// TestDeployedObjects applies all manifests, strictly, and looks for what alerts and dashboard
// ask for among the metrics.
func TestDeployedObjects(t *testing.T) {
	s, _ := harness.StartControlled(t)
	harness.Eventually(t, func() error { // a pod is made for this account
		_, err := s.TryKubectl(t, "", "get", "serviceaccount", "default", "-n", "kube-system")
		return err
	})
	apply := func(files ...string) {
		t.Helper()
		args := []string{"apply", "--server-side", "--validate=strict"}
		for _, f := range files {
			args = append(args, "-f", filepath.Join("../../deploy", f))
		}
		s.Kubectl(t, args...)
	}
	apply("sample-apiserver/sample-apiserver.yaml", "sample-apiserver/apiservices.yaml",
		"static-pod/kube-apiserver.yaml", "monitoring/rbac.yaml", "examples/crds", "examples/apiservices")
	s.Kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/gardens.example.com",
		"crd/regions.example.com")
	apply("examples/objects")
	harness.Expect(t, s.Kubectl(t, "get", "gardens"), "loam", "3")
	s.Kubectl(t, "scale", "garden/front", "--replicas=2")
	if out, err := s.TryKubectl(t, "", "scale", "garden/front", "--replicas=1"); err == nil {
		t.Errorf("two plants fit into a bed: %s", out)
	}
	checkMonitoring(t, s)
}

// TestServiceIsNotified is systemd for a unit of Type=notify: it hears that the server is ready,
// and that it stops.
func TestServiceIsNotified(t *testing.T) {
	socket, err := net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(40 * time.Second)); err != nil {
		t.Fatal(err)
	}
	hear := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		n, err := socket.Read(message)
		if err != nil || string(message[:n]) != want {
			t.Fatalf("heard %q, %v; want %q", message[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", socket.LocalAddr().String())
	s := harness.Start(t)
	hear("READY=1")
	out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, "kubeconfig", "--data-dir", s.DataDir, "--server",
		"https://triplane.example.com").Output()
	if err != nil || !strings.Contains(string(out), "server: https://triplane.example.com\n") {
		t.Errorf("%v, the kubeconfig is\n%s", err, out)
	}
	if err := s.Terminate(t); err != nil {
		t.Error(err)
	}
	hear("STOPPING=1")
}
