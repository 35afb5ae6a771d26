// The life of a workspace: sleep, wake, suspension and deletion.
package workspaces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// objects returns the client of Workspaces.
func objects(t *testing.T, s *testserver.Server) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(workspaces.GroupVersion.WithResource(workspaces.Plural))
}

// create creates a workspace.
func create(t *testing.T, s *testserver.Server, w *workspaces.Workspace) {
	t.Helper()
	w.TypeMeta = metav1.TypeMeta{APIVersion: workspaces.GroupVersion.String(), Kind: "Workspace"}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	if err != nil {
		t.Fatal(err)
	}
	made, err := objects(t, s).Create(bounded(t), &unstructured.Unstructured{Object: raw}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url, _, _ := unstructured.NestedString(made.Object, "status", "url")
	if !strings.HasSuffix(url, "/workspaces/"+w.Name) {
		t.Errorf("the URL is %q", url)
	}
}

// state returns the number of workspaces in a state by the metrics.
func state(t *testing.T, s *testserver.Server, state string) string {
	t.Helper()
	raw, err := clientOf(t, s.Config()).Discovery().RESTClient().Get().AbsPath("/metrics").Do(bounded(t)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if count, ok := strings.CutPrefix(line, `triplane_workspaces{state="`+state+`"} `); ok {
			return strings.TrimSpace(count)
		}
	}
	return "0"
}

// An idle workspace sleeps, wakes with its objects, and is not woken by requests without credentials.
func TestSleepAndWake(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(),
		testserver.WithOptions(func(o *triplane.Options) { o.Workspaces.IdleTimeout = time.Second }))
	ctx := bounded(t)
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if awake := state(t, s, "awake"); awake != "0" {
		t.Errorf("%s workspaces are awake before the first request", awake)
	}
	config := s.InWorkspace("a")
	createWidgets(t, config)
	if _, err := clientOf(t, config).CoreV1().ConfigMaps("default").Create(ctx, settings("kept"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "1", nil })

	anonymous := rest.AnonymousClientConfig(s.TLSConfig())
	anonymous.Host += "/workspaces/a"
	if _, err := clientOf(t, anonymous).Discovery().ServerVersion(); !apierrors.IsForbidden(err) {
		t.Errorf("an anonymous request got %v", err)
	}
	if asleep := state(t, s, "asleep"); asleep != "1" {
		t.Error("an anonymous request woke the workspace")
	}
	if _, err := clientOf(t, config).CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(widgets).List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("the custom resource after the wake: %v", err)
	}
	watch, err := clientOf(t, config).CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // several times the idle timeout: what happens must not
	if awake := state(t, s, "awake"); awake != "1" {
		t.Error("the workspace sleeps while a client watches")
	}
	watch.Stop()
	await(t, "sleep after the watch", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
}

// Reads wake a workspace without its controllers, which start with the first write.
func TestControllersStartWithAWrite(t *testing.T) {
	backend := memory.New()
	s := startSleepy(t, backend)
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	client := clientOf(t, s.InWorkspace("a")).CoreV1()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.Namespaces().Create(bounded(t), shop, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configMaps := client.ConfigMaps(shop.Name)
	const kept = "kube-root-ca.crt" // which a controller creates
	exists := func() (bool, error) {
		_, err := configMaps.Get(bounded(t), kept, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
	await(t, "the controllers", exists)
	await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
	all, err := backend.Range(bounded(t), storage.RangeOptions{Prefix: "/registry/.workspaces/a."})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range all.Items {
		if strings.HasSuffix(kv.Key, "/configmaps/shop/"+kept) {
			if _, err := backend.Delete(bounded(t), kv.Key, kv.Revision); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 10 {
		if found, err := exists(); found || err != nil {
			t.Fatalf("a controller ran before the first write (%v)", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := configMaps.Create(bounded(t), settings("first"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the controllers after a write", exists)
}

// A suspended workspace can be read by administrators only.
func TestSuspension(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	if _, err := objects(t, s.Server).Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"suspended":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the suspension", func() (bool, error) {
		_, err := clientOf(t, s.in("/workspaces/a")).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return apierrors.IsForbidden(err), ignoring(err, apierrors.IsForbidden)
	})
	admin := rest.CopyConfig(s.TLSConfig())
	admin.Host += "/workspaces/a"
	if _, err := clientOf(t, admin).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("an administrator cannot read: %v", err)
	}
	if _, err := clientOf(t, admin).CoreV1().ConfigMaps("default").Create(ctx, settings("new"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an administrator could write: %v", err)
	}
}

// Writes that exceed the quota are rejected; objects can shrink and be deleted, and then others written.
func TestQuota(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	maps := clientOf(t, s.in("/workspaces/a")).CoreV1().ConfigMaps("default")
	set := func(quota string) {
		t.Helper()
		if _, err := objects(t, s.Server).Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"quota":`+quota+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	try := func(name string, bytes int) error {
		m := settings(name)
		m.Data["a"] = strings.Repeat("x", bytes)
		_, err := maps.Create(ctx, m, metav1.CreateOptions{})
		return err
	}
	full := func(what string, bytes int) {
		t.Helper()
		n := 0
		await(t, what, func() (bool, error) {
			n++
			err := try(fmt.Sprintf("%s-%d", what, n), bytes)
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"), ignoring(err, apierrors.IsForbidden)
		})
	}
	set(`{"objects":1}`)
	full("objects", 1)
	config := s.in("/workspaces/a")
	config.Impersonate.UserName, config.Impersonate.Groups = "system:apiserver", []string{"system:masters"}
	if _, err := clientOf(t, config).CoreV1().ConfigMaps("default").Create(ctx, settings("as-the-server"),
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("who impersonates the server exceeds the quota: %v", err)
	}
	if err := maps.Delete(ctx, "of-a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("an object cannot be deleted: %v", err)
	}
	set(`{"objects":null,"bytes":"1Mi"}`)
	full("bytes", 100<<10)
	if _, err := maps.Get(ctx, "bytes-1", metav1.GetOptions{}); err != nil {
		t.Errorf("no object was written below the quota: %v", err)
	}
	if _, err := maps.Patch(ctx, "bytes-1", types.MergePatchType, []byte(`{"data":{"a":"small"}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("an object cannot shrink: %v", err)
	}
	if err := try("again", 50<<10); err != nil {
		t.Errorf("there is room, but %v", err)
	}
	if err := clientOf(t, s.InWorkspace("b")).CoreV1().ConfigMaps("default").Delete(ctx, "of-b", metav1.DeleteOptions{}); err != nil {
		t.Errorf("another workspace: %v", err)
	}
}

// A deleted workspace ends its watches, and another one of its name has nothing of it.
func TestDeletion(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces())
	ctx := bounded(t)
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	maps := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, settings("old"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watch, err := maps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := objects(t, s).Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range watch.ResultChan() { // until it ends
	}
	await(t, "the deletion", func() (bool, error) {
		_, err := objects(t, s).Get(ctx, "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoring(err, apierrors.IsNotFound)
	})
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if _, err := maps.Get(ctx, "old", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object of the deleted workspace: %v", err)
	}
}
