// One list and one watch of a resource in all workspaces, and writes to the workspace of each object.
package workspaces

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
	"triplane.dev/workspaces/transport"
)

func TestAllWorkspaces(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	forged := settings("forged")
	forged.Annotations = map[string]string{transport.Annotation: "b"}
	if _, err := clientOf(t, s.in("/workspaces/a")).CoreV1().ConfigMaps("default").Create(ctx, forged, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	reader := s.AddUser("reader").Config()
	reader.Host += "/workspaces/*"
	all := clientOf(t, reader).CoreV1().ConfigMaps("default")
	if _, err := all.List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without permission: %v", err)
	}
	grantContents(t, s.Server, "reader")
	var found *corev1.ConfigMapList
	await(t, "the permission", func() (done bool, err error) {
		found, err = all.List(ctx, metav1.ListOptions{})
		return err == nil, ignoring(err, apierrors.IsForbidden)
	})
	places := map[string]string{}
	for _, m := range found.Items {
		places[m.Name] = m.Annotations[transport.Annotation]
	}
	if places["of-a"] != "a" || places["of-b"] != "b" || places["forged"] != "a" {
		t.Errorf("the objects are in %v", places)
	}

	var paged []string
	options := metav1.ListOptions{Limit: 1}
	for {
		page, err := all.List(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Items {
			paged = append(paged, m.Annotations[transport.Annotation]+"/"+m.Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	var whole []string
	for _, m := range found.Items {
		whole = append(whole, m.Annotations[transport.Annotation]+"/"+m.Name)
	}
	if fmt.Sprint(paged) != fmt.Sprint(whole) {
		t.Errorf("pages have %v, the list %v", paged, whole)
	}

	watch, err := all.Watch(ctx, metav1.ListOptions{ResourceVersion: found.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for _, name := range []string{"a", "b"} {
		if _, err := clientOf(t, s.InWorkspace(name)).CoreV1().ConfigMaps("default").Create(ctx, settings("new-"+name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for e := range watch.ResultChan() {
		m, ok := e.Object.(*corev1.ConfigMap)
		if !ok {
			t.Fatalf("the watch received %v", e)
		}
		if seen[m.Name] = m.Annotations[transport.Annotation]; len(seen) == 2 {
			break
		}
	}
	if seen["new-a"] != "a" || seen["new-b"] != "b" {
		t.Errorf("the watch showed %v", seen)
	}
	if _, err := all.Create(ctx, settings("nowhere"), metav1.CreateOptions{}); err == nil {
		t.Error("an object was created in all workspaces")
	}

	writer := rest.CopyConfig(s.Config())
	writer.Host += "/workspaces/*"
	writer.Wrap(transport.Wrap)
	of := clientOf(t, writer).CoreV1().ConfigMaps("default")
	for _, m := range found.Items {
		if m.Name == "of-b" {
			m.Data = map[string]string{"written": "yes"}
			if _, err := of.Update(transport.In(ctx, m.Annotations[transport.Annotation]), &m, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := clientOf(t, s.InWorkspace("b")).CoreV1().ConfigMaps("default").Get(ctx, "of-b", metav1.GetOptions{})
	if err != nil || m.Data["written"] != "yes" {
		t.Errorf("the object was written as %v, %v", m, err)
	}
}

// grantContents allows a user to read in all workspaces.
func grantContents(t *testing.T, s *testserver.Server, name string) {
	t.Helper()
	ctx, client := bounded(t), clientOf(t, s.Config())
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "contents"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{workspaces.GroupVersion.Group}, Resources: []string{"workspaces/content"},
			Verbs: []string{"list", "watch"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := grant(ctx, client, "contents", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}); err != nil {
		t.Fatal(err)
	}
}

// A list and a watch of a built-in resource wake no workspace, in protobuf as in JSON, with selectors and bookmarks, and
// see workspaces that are created and deleted later.
func TestAllWorkspacesSleep(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithOptions(func(o *triplane.Options) { o.Workspaces.IdleTimeout = time.Second }))
	ctx := bounded(t)
	for _, name := range []string{"a", "b"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		for _, m := range []string{"one", "two"} {
			labelled := settings(m)
			labelled.Labels = map[string]string{"which": m, "where": name}
			labelled.Annotations = map[string]string{transport.Annotation: "forged"}
			if _, err := clientOf(t, s.InWorkspace(name)).CoreV1().ConfigMaps("default").Create(ctx, labelled, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "2", nil })
	for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		config := rest.CopyConfig(s.Config())
		config.Host, config.ContentType, config.AcceptContentTypes = config.Host+"/workspaces/*", media, media
		all := clientOf(t, config).CoreV1().ConfigMaps("default")
		for selection, want := range map[metav1.ListOptions]string{
			{LabelSelector: "which"}:                                 "[a/one b/one a/two b/two]",
			{LabelSelector: "where=b"}:                               "[b/one b/two]",
			{FieldSelector: "metadata.name=two"}:                     "[a/two b/two]",
			{LabelSelector: "which=one", ResourceVersion: "0"}:       "[a/one b/one]",
			{FieldSelector: "metadata.namespace=x"}:                  "[]",
			{FieldSelector: "metadata.name=two", LabelSelector: "x"}: "[]",
		} {
			found, err := all.List(ctx, selection)
			if err != nil {
				t.Fatal(err)
			}
			have := []string{}
			for i := range found.Items {
				have = append(have, found.Items[i].Annotations[transport.Annotation]+"/"+found.Items[i].Name)
			}
			if fmt.Sprint(have) != want {
				t.Errorf("%s: %+v found %v, want %s", media, selection, have, want)
			}
		}
	}
	if awake := state(t, s, "awake"); awake != "0" {
		t.Errorf("the lists woke %s workspaces", awake)
	}
	config := rest.CopyConfig(s.Config())
	config.Host += "/workspaces/*"
	initial := true
	watched, err := clientOf(t, config).CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{LabelSelector: "which=one", SendInitialEvents: &initial,
		AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	next := func() string {
		t.Helper()
		e, ok := <-watched.ResultChan()
		m, is := e.Object.(*corev1.ConfigMap)
		if !ok || !is {
			t.Fatalf("the watch received %v", e)
		}
		return fmt.Sprint(e.Type, " ", m.Annotations[transport.Annotation], "/", m.Name)
	}
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if have := next(); have != w {
				t.Fatalf("the watch received %s, want %s", have, w)
			}
		}
	}
	expect("ADDED a/one", "ADDED b/one", "BOOKMARK /")
	if awake := state(t, s, "awake"); awake != "0" {
		t.Errorf("the watch woke %s workspaces", awake)
	}
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
	labelled := settings("one")
	labelled.Labels = map[string]string{"which": "one"}
	if _, err := clientOf(t, s.InWorkspace("c")).CoreV1().ConfigMaps("default").Create(ctx, labelled, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("ADDED c/one")
	if err := objects(t, s).Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("DELETED a/one")
}

// Workspaces that were written before there were keys of existence are read, too.
func TestAllWorkspacesOfAnEarlyRelease(t *testing.T) {
	backend := memory.New()
	t.Run("before", func(t *testing.T) {
		s := startOn(t, backend)
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		if _, err := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default").Create(bounded(t), settings("m"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	keys, err := backend.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/.workspaces/.existing/"})
	if err != nil || len(keys.Items) != 1 {
		t.Fatalf("the keys are %v, %v", keys, err)
	}
	if _, err := backend.Delete(t.Context(), keys.Items[0].Key, keys.Items[0].Revision); err != nil {
		t.Fatal(err)
	}
	s := startOn(t, backend)
	await(t, "the object", func() (bool, error) {
		found, err := clientOf(t, s.InWorkspace("*")).CoreV1().ConfigMaps("default").List(bounded(t), metav1.ListOptions{FieldSelector: "metadata.name=m"})
		return err == nil && len(found.Items) == 1, err
	})
}
