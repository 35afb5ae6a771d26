package testserver

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"go.uber.org/goleak"

	"triplane.dev"
)

// klog's flush daemon is global to the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

const crds = "testdata/crds"

func clientOf(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createMap(t testing.TB, client kubernetes.Interface, name string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "1"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// All client configurations connect to the same server.
func TestConfigs(t *testing.T) {
	t.Parallel()
	s := Start(t)
	createMap(t, clientOf(t, s.Config()), "here")
	fromFile, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"TLS": s.TLSConfig(), "kubeconfig": fromFile} {
		if _, err := clientOf(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "here", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := Start(t)
	createMap(t, clientOf(t, s.Config()), "here")
	user := s.AddUser("jane", "devs")
	fromFile, err := clientcmd.BuildConfigFromFlags("", user.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	jane := clientOf(t, user.Config())
	if _, err := jane.CoreV1().ConfigMaps("default").Get(t.Context(), "here", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("before the role binding: %v", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "devs"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "devs"}},
	}
	if _, err := clientOf(t, s.Config()).RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, config := range []*rest.Config{user.Config(), fromFile} {
		eventually(t, func() error {
			_, err := clientOf(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "here", metav1.GetOptions{})
			return err
		})
	}
}

// eventually polls for conditions without events.
func eventually(t testing.TB, f func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func newWidget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1)},
	}}
}

func TestReset(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{
		"memory": nil, "etcd": {WithEtcd()}, "controllers": {WithControllers()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, append(opts, WithCRDs(crds))...)
			client, objects := clientOf(t, s.Config()), dynamic.NewForConfigOrDie(s.Config()).Resource(widgets).Namespace("default")
			w, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=made"})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			for range 2 {
				change(t, client, objects)
				s.Reset()
				for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
					if e := <-w.ResultChan(); e.Type != want {
						t.Errorf("the watch has %s, want %s", e.Type, want)
					}
				}
				wantAsAtStart(t, client, objects)
			}
		})
	}
}

// change creates, changes and deletes objects, some with finalizers.
func change(t *testing.T, client kubernetes.Interface, objects dynamic.ResourceInterface) {
	t.Helper()
	ctx := t.Context()
	createMap(t, client, "made")
	widget := newWidget("made")
	widget.SetFinalizers([]string{"example.com/never"})
	if _, err := objects.Create(ctx, widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.77", Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.RbacV1().ClusterRoles().Delete(ctx, "view", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	label := []byte(`{"metadata":{"labels":{"changed":"yes"}}}`)
	if _, err := client.RbacV1().ClusterRoles().Patch(ctx, "edit", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func wantAsAtStart(t *testing.T, client kubernetes.Interface, objects dynamic.ResourceInterface) {
	t.Helper()
	ctx := t.Context()
	if list, err := objects.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("widgets: %v %v", list, err)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, "made", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is there: %v", err)
	}
	if _, err := client.CoreV1().Services("default").Get(ctx, "made", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the service is there: %v", err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{}); err != nil {
		t.Errorf("a role of the start: %v", err)
	}
	if role, err := client.RbacV1().ClusterRoles().Get(ctx, "edit", metav1.GetOptions{}); err != nil || role.Labels["changed"] != "" {
		t.Errorf("a role of the start: %v %v", role, err)
	}
}

// Definitions that were installed after the start are removed, and can be installed again.
func TestResetDropsDefinitions(t *testing.T) {
	t.Parallel()
	s := Start(t)
	objects := dynamic.NewForConfigOrDie(s.Config()).Resource(widgets).Namespace("default")
	for range 3 {
		if crds := s.InstallCRDs(filepath.Join(crds, "widgets.yaml")); len(crds) != 1 {
			t.Fatalf("installed %v", crds)
		}
		s.InstallCRDs(crds) // as it is
		if _, err := objects.Create(t.Context(), newWidget("made"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Reset()
		eventually(t, func() error {
			_, err := objects.Get(t.Context(), "made", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
}

// The server creates all its objects before Start returns, so that Reset removes none of them.
func TestStartIsComplete(t *testing.T) {
	t.Parallel()
	s := Start(t, WithOptions(func(o *triplane.Options) { o.Kube.ServiceClusterIPs = "10.7.0.0/24" }))
	client := clientOf(t, s.TLSConfig())
	services, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || services.Spec.ClusterIP != "10.7.0.1" {
		t.Errorf("the Service kubernetes: %v", err)
	}
	s.Reset()
	for _, path := range []string{
		"/api/v1/namespaces/default/services/kubernetes", "/api/v1/namespaces/kube-system", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
		"/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
		"/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", "/readyz",
	} {
		if err := client.Discovery().RESTClient().Get().AbsPath(path).Do(t.Context()).Error(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestControllers(t *testing.T) {
	t.Parallel()
	s := Start(t, WithControllers())
	client := clientOf(t, s.Config())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := client.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=made", ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "made", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		if e.Type == watch.Deleted {
			return
		}
	}
	t.Error("the namespace was not emptied")
}

// Without controllers, pods need no service account.
func TestPodsWithoutControllers(t *testing.T) {
	t.Parallel()
	client := clientOf(t, Start(t).Config())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// A Job completes without a node, and a reset removes it with its pods, whatever its controller does.
func TestSimulatedWorkloads(t *testing.T) {
	t.Parallel()
	srv := Start(t, WithSimulatedWorkloads())
	client := clientOf(t, srv.Config())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	if _, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := client.BatchV1().Jobs("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if j, ok := e.Object.(*batchv1.Job); ok && j.Status.Succeeded == 1 && j.Status.CompletionTime != nil {
			break
		}
	}
	srv.Reset()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("after the reset there are %d pods, %v", len(pods.Items), err)
	}
}
