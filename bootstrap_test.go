package triplane

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	certutil "k8s.io/client-go/util/cert"
)

// until waits for a condition.
func until(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) { return condition(ctx), nil })
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestBootstrapIsRepaired deletes objects that the server creates, and waits until they are
// recreated.
func TestBootstrapIsRepaired(t *testing.T) {
	o := testOptions(t.TempDir())
	o.internal.repairEvery = 50 * time.Millisecond
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	c, err := dynamic.NewForConfig(s.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []string{
		"v1 services default kubernetes", "v1 endpoints default kubernetes", "discovery.k8s.io/v1 endpointslices default kubernetes",
		"v1 configmaps kube-system extension-apiserver-authentication",
		"v1 configmaps kube-system kube-apiserver-legacy-service-account-token-tracking",
		"flowcontrol.apiserver.k8s.io/v1 flowschemas - global-default", "flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations - workload-low",
		"rbac.authorization.k8s.io/v1 clusterroles - view", "rbac.authorization.k8s.io/v1 clusterrolebindings - system:basic-user",
		"rbac.authorization.k8s.io/v1 roles kube-system extension-apiserver-authentication-reader",
		"rbac.authorization.k8s.io/v1 rolebindings kube-public system:controller:bootstrap-signer",
		"v1 namespaces - kube-node-lease", "networking.k8s.io/v1 servicecidrs - kubernetes",
	} {
		t.Run(strings.Join(strings.Fields(object)[1:], " "), func(t *testing.T) { comesBack(t, c, strings.Fields(object)) })
	}
}

// comesBack deletes an object, without its finalizers, until there is a new one.
func comesBack(t *testing.T, c dynamic.Interface, words []string) {
	t.Helper()
	gv, err := schema.ParseGroupVersion(words[0])
	if err != nil {
		t.Fatal(err)
	}
	var client dynamic.ResourceInterface = c.Resource(gv.WithResource(words[1]))
	if words[2] != "-" {
		client = c.Resource(gv.WithResource(words[1])).Namespace(words[2])
	}
	old, err := client.Get(t.Context(), words[3], metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), words[3], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, words[3], func(ctx context.Context) bool {
		now, err := client.Get(ctx, words[3], metav1.GetOptions{})
		if err != nil {
			return false
		}
		if now.GetUID() != old.GetUID() {
			return true
		}
		release(ctx, t, client, now)
		return false
	})
}

// release removes the finalizers of an object that is being deleted, like controllers do.
func release(ctx context.Context, t *testing.T, client dynamic.ResourceInterface, o *unstructured.Unstructured) {
	t.Helper()
	o.SetFinalizers(nil)
	subresources := []string{}
	if o.GetKind() == "Namespace" {
		unstructured.RemoveNestedField(o.Object, "spec", "finalizers")
		subresources = append(subresources, "finalize")
	}
	if _, err := client.Update(ctx, o, metav1.UpdateOptions{}, subresources...); err != nil {
		t.Log(err) // it may be gone
	}
}

// TestChangedAuthorityIsPublished adds a CA to --client-ca-file, and waits for it in the config map of external
// API servers, which must happen before the next periodic repair.
func TestChangedAuthorityIsPublished(t *testing.T) {
	cert, _, err := certutil.GenerateSelfSignedCertKey("first.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	o := testOptions(t.TempDir())
	o.Authentication.ClientCAFile = file
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	c, err := dynamic.NewForConfig(s.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := certutil.GenerateSelfSignedCertKey("second.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(cert, second...), 0o600); err != nil {
		t.Fatal(err)
	}
	maps := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
	until(t, "the second authority", func(ctx context.Context) bool {
		m, err := maps.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil {
			return false
		}
		published, _, _ := unstructured.NestedString(m.Object, "data", "client-ca-file")
		return published == string(cert)+string(second)
	})
}
