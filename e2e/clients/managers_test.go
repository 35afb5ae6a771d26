// Controllers of users: the examples of controller-runtime run as they are.

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
)

// TestManagerOfACustomResource runs controller-runtime's example crd: a ChaosPod has a
// pod, which goes with it.
func TestManagerOfACustomResource(t *testing.T) {
	s, client := harness.StartControlled(t)
	s.Kubectl(t, "apply", "-f", "testdata/chaospods-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/chaospods.chaosapps.metamagical.io", "--timeout=30s")
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	example := startExample(t, s, "crd")
	for _, name := range []string{"one", "two"} {
		s.KubectlIn(t, fmt.Sprintf(`{"apiVersion":"chaosapps.metamagical.io/v1","kind":"ChaosPod","metadata":{"name":%q},
			"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, name), "create", "-f", "-")
	}
	first := ownedPod(t, client, "one", "")
	// The example itself deletes a pod at its ChaosPod's nextStop, which it writes after
	// the pod: that may be before this deletion.
	err := client.CoreV1().Pods("default").Delete(t.Context(), "one", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	ownedPod(t, client, "one", first)
	ownedPod(t, client, "two", "")

	for _, policy := range []string{"background", "foreground"} {
		if policy == "foreground" {
			s.KubectlIn(t, `{"apiVersion":"chaosapps.metamagical.io/v1","kind":"ChaosPod","metadata":{"name":"one"},
				"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, "create", "-f", "-")
			ownedPod(t, client, "one", "")
		}
		s.Kubectl(t, "delete", "chaospod", "one", "--cascade="+policy, "--timeout=30s")
		harness.Gone(t, func() error {
			_, err := client.CoreV1().Pods("default").Get(t.Context(), "one", metav1.GetOptions{})
			return err
		})
	}
	ownedPod(t, client, "two", "") // another owner's
	// The example may make the pod anew for an owner that is gone: nobody can look for
	// it once its kind is.
	if err := example.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Kubectl(t, "delete", "-f", "testdata/chaospods-crd.yaml", "--timeout=30s")
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Pods("default").Get(t.Context(), "two", metav1.GetOptions{})
		return err
	})
}

// TestManagerOfABuiltInKind runs controller-runtime's example builtins: it labels
// ReplicaSets, and follows the pods that they own.
func TestManagerOfABuiltInKind(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	startExample(t, s, "builtins")
	s.KubectlIn(t, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, "create", "-f", "-")
	var owner types.UID
	harness.Eventually(t, func() error {
		r, err := client.AppsV1().ReplicaSets("default").Get(ctx, "r", metav1.GetOptions{})
		if err == nil && r.Labels["hello"] != "world" {
			err = fmt.Errorf("labels %v", r.Labels)
		}
		if err == nil {
			owner = r.UID
		}
		return err
	})
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: owner, Controller: &yes, BlockOwnerDeletion: &yes},
	}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	harness.Eventually(t, func() error { // the namespace's service account comes a moment later
		_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	s.Kubectl(t, "delete", "replicaset", "r", "--timeout=30s")
	harness.Gone(t, func() error { _, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{}); return err })
}

// ownedPod waits for a pod that the ChaosPod of its name owns, with another UID than one
// before, and returns its UID.
func ownedPod(t *testing.T, client *kubernetes.Clientset, name string, before types.UID) (uid types.UID) {
	t.Helper()
	harness.Eventually(t, func() error {
		p, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if owner := metav1.GetControllerOf(p); owner == nil || owner.Kind != "ChaosPod" || owner.Name != name || p.UID == before {
			return fmt.Errorf("pod %s with owner %v", p.UID, owner)
		}
		uid = p.UID
		return nil
	})
	return uid
}

// startExample builds and runs an example of controller-runtime. Its ports are fixed
// there: here it serves no metrics, and its webhooks at a port of the kernel's choice,
// since a file beside those of the example says so.
func startExample(t *testing.T, s *harness.Server, name string) *harness.Process {
	t.Helper()
	const module = "sigs.k8s.io/controller-runtime"
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.Dir}}{{range .GoFiles}} {{.}}{{end}}`, module+"/examples/"+name)
	list.Dir = "../tools"
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("../tools/examples/" + name) // which exists for the compiler alone
	if err != nil {
		t.Fatal(err)
	}
	scratch, found := t.TempDir(), strings.Fields(string(out))
	replace := map[string]string{filepath.Join(folder, "ports.go"): filepath.Join(scratch, "ports.go")}
	for _, file := range found[1:] {
		replace[filepath.Join(folder, file)] = filepath.Join(found[0], file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	// The manager reads its certificate below the directory of temporary files.
	const certificates = "k8s-webhook-server/serving-certs"
	if err := os.MkdirAll(filepath.Join(scratch, certificates), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"overlay.json": overlay, "ports.go": []byte(ports)}
	for from, to := range map[string]string{"apiserver.crt": "tls.crt", "apiserver.key": "tls.key"} {
		if files[filepath.Join(certificates, to)], err = os.ReadFile(filepath.Join(s.DataDir, "pki", from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(scratch, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := harness.Tool(t, "./examples/"+name, "-overlay", filepath.Join(scratch, "overlay.json"))
	t.Setenv("TMPDIR", scratch)
	t.Setenv("KUBECONFIG", s.Kubeconfig)
	return harness.StartProgram(t, program)
}

const ports = `package main

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func init() { server.DefaultBindAddress, webhook.DefaultPort = "0", 0 }
`
