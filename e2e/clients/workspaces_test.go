// A manager of controller-runtime for the objects of all workspaces, as docs/workspaces.md says.

package clients

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"triplane.dev/e2e/harness"
	"triplane.dev/workspaces/transport"
)

// startManager starts a manager that records in each config map "shared" the workspace that it is from.
func startManager(t *testing.T, root *rest.Config) {
	t.Helper()
	config := rest.CopyConfig(root)
	config.Host += "/workspaces/*"
	config.Wrap(transport.Wrap)
	m, err := manager.New(config, manager.Options{
		Logger: klog.Background(), Metrics: server.Options{BindAddress: "0"},
		MapperProvider: func(_ *rest.Config, c *http.Client) (meta.RESTMapper, error) {
			return apiutil.NewDynamicRESTMapper(root, c)
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.NewTyped("across", m, controller.TypedOptions[transport.Key]{
		Reconciler: reconcile.TypedFunc[transport.Key](func(ctx context.Context, key transport.Key) (reconcile.Result, error) {
			ctx = transport.In(ctx, key.Workspace)
			var found corev1.ConfigMap
			if err := m.GetClient().Get(ctx, key.NamespacedName, &found); err != nil || found.Data["from"] == key.Workspace || found.Name != "shared" {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			found.Data = map[string]string{"from": key.Workspace}
			return reconcile.Result{}, m.GetClient().Update(ctx, &found)
		})})
	if err != nil {
		t.Fatal(err)
	}
	objects := metadata.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	err = c.Watch(source.TypedFunc[transport.Key](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[transport.Key]) error {
		go transport.Follow(ctx, objects, q.Add)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Objects of the same name in several workspaces are reconciled, each in its own, one of them in a workspace that was
// created after the manager started.
func TestManagerOfAllWorkspaces(t *testing.T) {
	s, _ := harness.StartControlled(t, "--workspaces")
	create := func(name string) *kubernetes.Clientset {
		t.Helper()
		c := kubernetes.NewForConfigOrDie(s.Workspace(t, name).Config)
		if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	clients := map[string]*kubernetes.Clientset{"a": create("a"), "b": create("b")}
	startManager(t, s.Config)
	clients["c"] = create("c")
	for name, c := range clients {
		harness.Eventually(t, func() error {
			m, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "shared", metav1.GetOptions{})
			if err == nil && (m.Data["from"] != name || m.Annotations[transport.Annotation] != "") {
				err = fmt.Errorf("the object in %s has %v and %v", name, m.Data, m.Annotations)
			}
			return err
		})
	}
}
