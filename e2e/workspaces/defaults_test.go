package workspaces

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// startOn starts a server with workspaces on a backend, which several servers can share.
func startOn(t *testing.T, backend storage.Backend) *testserver.Server {
	t.Helper()
	return testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers(),
		testserver.WithOptions(func(o *triplane.Options) { o.Etcd.Backend, o.Etcd.Memory = backend, false }))
}

// Default objects are not stored until they are changed or deleted, each workspace changes its own, and all replicas show
// the same ones.
func TestDefaultsAreShared(t *testing.T) {
	backend := memory.New()
	s, replica := startOn(t, backend), startOn(t, backend)
	ctx := bounded(t)
	for _, name := range []string{"a", "b"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	roles := clientOf(t, s.InWorkspace("a")).RbacV1().ClusterRoles()
	all, err := roles.List(ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) < 50 {
		t.Fatalf("%d default roles, %v", len(all.Items), err)
	}
	watched, err := roles.Watch(ctx, metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	view, err := roles.Patch(ctx, "view", types.MergePatchType, []byte(`{"metadata":{"labels":{"mine":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := roles.Delete(ctx, "edit", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "admin"}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a default was created: %v", err)
	}
	for _, want := range []struct {
		event watch.EventType
		name  string
	}{{watch.Modified, "view"}, {watch.Deleted, "edit"}} {
		e, ok := <-watched.ResultChan()
		if role, is := e.Object.(*rbacv1.ClusterRole); !ok || !is || e.Type != want.event || role.Name != want.name {
			t.Fatalf("the watch received %v, want %v", e, want)
		}
	}
	for name, server := range map[string]*testserver.Server{"the server": s, "its replica": replica} {
		mine := clientOf(t, server.InWorkspace("a")).RbacV1().ClusterRoles()
		again, err := mine.List(ctx, metav1.ListOptions{})
		if err != nil || len(again.Items) != len(all.Items)-1 {
			t.Errorf("%s has %d roles, %v, want %d", name, len(again.Items), err, len(all.Items)-1)
		}
		if have, err := mine.Get(ctx, "view", metav1.GetOptions{}); err != nil || have.ResourceVersion != view.ResourceVersion {
			t.Errorf("%s has %v, %v", name, have, err)
		}
		others, err := clientOf(t, server.InWorkspace("b")).RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil || len(others.Items) != len(all.Items) {
			t.Fatalf("another workspace has %d roles, %v", len(others.Items), err)
		}
		for i := range others.Items {
			if o, first := &others.Items[i], &all.Items[i]; o.UID != first.UID || !o.CreationTimestamp.Equal(&first.CreationTimestamp) {
				t.Errorf("%s shows another %s", name, o.Name)
			}
		}
	}
	if _, err := roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a deleted default cannot be created: %v", err)
	}
	stored, err := backend.Range(ctx, storage.RangeOptions{Prefix: "/registry/.workspaces/b."})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Items) > 0 {
		t.Errorf("an empty workspace has %d stored keys, the first is %s", len(stored.Items), stored.Items[0].Key)
	}
}

// The namespaces and service accounts that a workspace begins with are its own: no other workspace has their UIDs, and
// they can be deleted.
func TestDefaultsOfEachWorkspace(t *testing.T) {
	backend := memory.New()
	s, replica := startOn(t, backend), startOn(t, backend)
	ctx := bounded(t)
	uids := map[types.UID]string{}
	for _, name := range []string{"a", "b"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		w, err := objects(t, s).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range []*testserver.Server{s, replica} {
			client := clientOf(t, server.InWorkspace(name)).CoreV1()
			ns, err := client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			account, err := client.ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []metav1.Object{ns, account} {
				if other := uids[o.GetUID()]; other != "" && other != name+"/"+o.GetName() {
					t.Errorf("%s in %s has the UID of %s", o.GetName(), name, other)
				}
				uids[o.GetUID()] = name + "/" + o.GetName()
				if created := o.GetCreationTimestamp(); created != w.GetCreationTimestamp() {
					t.Errorf("%s was created at %s, its workspace at %s", o.GetName(), created, w.GetCreationTimestamp())
				}
			}
		}
	}
	if len(uids) != 4 {
		t.Errorf("a replica has other UIDs: %v", uids)
	}
	client := clientOf(t, s.InWorkspace("a")).CoreV1()
	before, err := client.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.ServiceAccounts("default").Delete(ctx, "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "another default service account", func() (bool, error) {
		now, err := client.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil && now.UID != before.UID, ignoring(err, apierrors.IsNotFound)
	})
	if err := client.Namespaces().Delete(ctx, "kube-node-lease", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of a namespace", func() (bool, error) {
		_, err := client.Namespaces().Get(ctx, "kube-node-lease", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoring(err, apierrors.IsNotFound)
	})
	for _, server := range []*testserver.Server{s, replica} {
		if left, err := clientOf(t, server.InWorkspace("a")).CoreV1().ConfigMaps("kube-node-lease").List(ctx,
			metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
			t.Errorf("a deleted namespace has %d config maps, %v", len(left.Items), err)
		}
	}
}

// A page of a list, a deletion of a collection and a role's effect are those of stored objects.
func TestDefaultsAreObjects(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	client := clientOf(t, s.InWorkspace("a"))
	roles := client.RbacV1().ClusterRoles()
	whole, err := roles.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names, opts := 0, metav1.ListOptions{Limit: 7}
	for {
		page, err := roles.List(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			if page.Items[i].Name != whole.Items[names+i].Name {
				t.Fatalf("page of %d roles: %s is not %s", len(page.Items), page.Items[i].Name, whole.Items[names+i].Name)
			}
		}
		if names += len(page.Items); page.Continue == "" {
			break
		}
		opts.Continue = page.Continue
	}
	if names != len(whole.Items) {
		t.Errorf("%d roles in pages, %d in a list", names, len(whole.Items))
	}
	classes := client.SchedulingV1().PriorityClasses()
	if err := client.FlowcontrolV1().FlowSchemas().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if left, err := client.FlowcontrolV1().FlowSchemas().List(ctx, metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
		t.Errorf("%d flow schemas are left, %v", len(left.Items), err)
	}
	if left, err := classes.List(ctx, metav1.ListOptions{}); err != nil || len(left.Items) != 2 {
		t.Errorf("%d priority classes, %v", len(left.Items), err)
	}
	if err := grant(ctx, client, "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "stranger"}); err != nil {
		t.Fatal(err)
	}
	stranger := s.AddUser("stranger").Config()
	stranger.Host += "/workspaces/a"
	maps := clientOf(t, stranger).CoreV1().ConfigMaps("default")
	await(t, "the role", func() (bool, error) {
		_, err := maps.List(ctx, metav1.ListOptions{})
		return err == nil, ignoring(err, apierrors.IsForbidden)
	})
	if err := roles.Delete(ctx, "view", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the effect of its deletion", func() (bool, error) {
		_, err := maps.List(ctx, metav1.ListOptions{})
		return apierrors.IsForbidden(err), ignoring(err, apierrors.IsForbidden)
	})
}

// Workspaces are served whatever the media type of storage is.
func TestStorageMediaTypes(t *testing.T) {
	for _, media := range []string{"application/yaml", "application/json"} {
		s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithOptions(func(o *triplane.Options) { o.Etcd.MediaType = media }))
		ctx := bounded(t)
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		maps := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default")
		if _, err := maps.Create(ctx, settings("m"), metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", media, err)
		}
		all := s.InWorkspace("*")
		found, err := clientOf(t, all).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=m"})
		if err != nil || len(found.Items) != 1 {
			t.Errorf("%s: all workspaces have %v, %v", media, found, err)
		}
	}
}
