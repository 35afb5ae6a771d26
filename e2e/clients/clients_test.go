// The typed, dynamic and metadata clients of client-go.

package clients

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// TestClients drives the server with each kind of client-go client.
func TestClients(t *testing.T) {
	s := harness.Start(t)
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run("typed "+contentType, func(t *testing.T) {
			config := rest.CopyConfig(s.Config)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			typedClient(t, kubernetes.NewForConfigOrDie(config))
		})
	}
	t.Run("dynamic", func(t *testing.T) { dynamicClient(t, dynamic.NewForConfigOrDie(s.Config)) })
	t.Run("metadata", func(t *testing.T) { metadataClient(t, s) })
}

func typedClient(t *testing.T, client kubernetes.Interface) {
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps("default")
	created, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-"}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion,
		FieldSelector: "metadata.name=" + created.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := maps.Patch(ctx, created.Name, types.MergePatchType, []byte(`{"data":{"k":"v"}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := maps.Get(ctx, created.Name, metav1.GetOptions{})
	if err != nil || got.Data["k"] != "v" {
		t.Fatalf("got %v, %v", got.Data, err)
	}
	if err := maps.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MODIFIED", "DELETED"} {
		select {
		case e := <-watch.ResultChan():
			if string(e.Type) != want {
				t.Errorf("event %s, want %s", e.Type, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %s event", want)
		}
	}
}

func dynamicClient(t *testing.T, client dynamic.Interface) {
	ctx, maps := t.Context(), client.Resource(configMaps).Namespace("default")
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "dynamic"},
		"data": map[string]any{"k": "v"},
	}}
	if _, err := maps.Apply(ctx, "dynamic", obj, metav1.ApplyOptions{FieldManager: "e2e"}); err != nil {
		t.Fatal(err)
	}
	got, err := maps.Get(ctx, "dynamic", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := got.GetManagedFields(); len(m) != 1 || m[0].Manager != "e2e" ||
		m[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed fields %v", m)
	}
}

func metadataClient(t *testing.T, s *harness.Server) {
	list, err := metadata.NewForConfigOrDie(s.Config).
		Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) < 4 || list.Items[0].Name != "default" || list.Items[0].UID == "" {
		t.Errorf("%d namespaces: %v", len(list.Items), list.Items)
	}
}
