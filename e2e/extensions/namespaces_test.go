// The namespace controller deletes objects of an external API server, and reports when it cannot.

package extensions

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"triplane.dev/e2e/harness"
)

// TestNamespacesWithExternalObjects deletes a namespace that an external API server
// keeps objects of, and another one while that server does not answer.
func TestNamespacesWithExternalObjects(t *testing.T) {
	t.Parallel() // it waits for the next check of a server that has ended
	s, client := harness.StartControlled(t)
	port := harness.FreePort(t)
	sample := startSample(t, s, port, *upstream)
	s.KubectlIn(t, fmt.Sprintf(wardle, port), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Available", "apiservice/v1alpha1.wardle.example.com", "--timeout=60s")
	s.Kubectl(t, "create", "namespace", "far")
	flunders := dynamic.NewForConfigOrDie(s.Config).Resource(flunderResource)
	owner, err := client.CoreV1().ConfigMaps("far").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct{ name, owner string }{{"free", ""}, {"owned", string(owner.UID)}} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "wardle.example.com/v1alpha1",
			"kind": "Flunder"}}
		u.SetName(f.name)
		if f.owner != "" {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner",
				UID: owner.UID}})
		}
		harness.Eventually(t, func() error {
			_, err := flunders.Namespace("far").Create(t.Context(), u, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
	}
	// The collector crosses the border of servers.
	if err := client.CoreV1().ConfigMaps("far").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Gone(t, func() error {
		_, err := flunders.Namespace("far").Get(t.Context(), "owned", metav1.GetOptions{})
		return err
	})

	s.Kubectl(t, "delete", "namespace", "far", "--timeout=60s")
	list, err := flunders.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("flunders are left: %v %v", list, err)
	}

	sample.Kill()
	harness.Eventually(t, func() error {
		if out := s.Kubectl(t, "get", "apiservice", "v1alpha1.wardle.example.com"); !strings.Contains(out, "False") {
			return fmt.Errorf("still:\n%s", out)
		}
		return nil
	})
	s.Kubectl(t, "create", "namespace", "unsure")
	s.Kubectl(t, "delete", "namespace", "unsure", "--wait=false")
	harness.Eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(t.Context(), "unsure", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue &&
				strings.Contains(c.Message, "wardle.example.com/v1alpha1") {
				return nil
			}
		}
		return fmt.Errorf("conditions: %v", ns.Status.Conditions)
	})
	s.Kubectl(t, "delete", "apiservice", "v1alpha1.wardle.example.com")
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "unsure", metav1.GetOptions{})
		return err
	})
}
