// Controllers of users: the examples of controller-runtime run as they are.

package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
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
	example := startExample(t, s, programs.ExampleCRD)
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

// TestManagerOfABuiltInKind runs controller-runtime's example builtins, in the root and in a workspace: it labels
// ReplicaSets, and follows the pods that they own.
func TestManagerOfABuiltInKind(t *testing.T) {
	root, _ := harness.StartControlled(t, "--workspaces")
	for name, s := range map[string]*harness.Server{"root": root, "workspace": root.Workspace(t, "a")} {
		t.Run(name, func(t *testing.T) { manageReplicaSets(t, s, kubernetes.NewForConfigOrDie(s.Config)) })
	}
}

func manageReplicaSets(t *testing.T, s *harness.Server, client *kubernetes.Clientset) {
	t.Helper()
	ctx := t.Context()
	startExample(t, s, programs.ExampleBuiltins)
	s.KubectlIn(t, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, "create",
		"-f", "-")
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
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
		return err
	})
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
		if owner := metav1.GetControllerOf(p); owner == nil || owner.Kind != "ChaosPod" || owner.Name != name ||
			p.UID == before {
			return fmt.Errorf("pod %s with owner %v", p.UID, owner)
		}
		uid = p.UID
		return nil
	})
	return uid
}

// startExample runs an example of controller-runtime, whose webhooks have the server's certificate.
func startExample(t *testing.T, s *harness.Server, example programs.Program) *harness.Process {
	t.Helper()
	program := harness.Tool(t, example)
	// The manager reads its certificate below the directory of temporary files.
	const certificates = "k8s-webhook-server/serving-certs"
	scratch := t.TempDir()
	if err := os.MkdirAll(filepath.Join(scratch, certificates), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"apiserver.crt": "tls.crt", "apiserver.key": "tls.key"} {
		content, err := os.ReadFile(filepath.Join(s.DataDir, "pki", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(scratch, certificates, to), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", scratch)
	t.Setenv("KUBECONFIG", s.Kubeconfig)
	return harness.StartProgram(t, program)
}
