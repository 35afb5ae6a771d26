// Workspaces that begin as copies of another one.
package workspaces

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// from returns a workspace that is a copy of another one.
func from(name, template string) *workspaces.Workspace {
	w := with(name)
	w.Spec.Template = &workspaces.Template{Name: template}
	return w
}

// fill creates what a template may have: objects of all kinds of origin, credentials and temporary objects.
func fill(t *testing.T, config *rest.Config) (token string, owner types.UID) {
	t.Helper()
	ctx, c := bounded(t), clientOf(t, config)
	createWidgets(t, config)
	try := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"a": "b"}}}, metav1.CreateOptions{}))
	widget(t, config, widgets, "shop", "w")
	m, err := c.CoreV1().ConfigMaps("shop").Create(ctx, settings("owner"), metav1.CreateOptions{})
	try(nil, err)
	owned := settings("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: m.UID}}
	try(c.CoreV1().ConfigMaps("shop").Create(ctx, owned, metav1.CreateOptions{}))
	try(nil, grant(ctx, c, "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "team"}))
	try(c.CoreV1().Secrets("shop").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{}))
	token = createToken(t, config)
	try(c.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Name: "legacy",
		Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}}}, metav1.CreateOptions{}))
	try(c.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{Type: corev1.SecretTypeBootstrapToken, ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"},
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef"}}, metav1.CreateOptions{}))
	try(c.CoordinationV1().Leases("shop").Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}, metav1.CreateOptions{}))
	try(c.CoreV1().Events("shop").Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "shop"}}, metav1.CreateOptions{}))
	return token, m.UID
}

// awaitReady waits until a workspace has all its initial objects.
func awaitReady(t *testing.T, s *testserver.Server, name string) {
	t.Helper()
	await(t, "the workspace "+name, func() (bool, error) {
		ready, _, _ := readiness(t, s, name)
		return ready == "True", nil
	})
}

// A copy has the objects of its template, and then its initial objects, with other uids; it has none of the credentials of
// the template, nor what is temporary.
func TestTemplate(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	ctx := bounded(t)
	create(t, s, with("base"))
	token, owner := fill(t, s.InWorkspace("base"))
	copied := from("copy", "base")
	copied.Spec.Initial = with("", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"more","namespace":"shop"}}`).Spec.Initial
	create(t, s, copied)
	if ready, reason, _ := readiness(t, s, "copy"); ready != "False" || reason != "Initializing" {
		t.Errorf("a new copy is %s, %s", ready, reason)
	}
	awaitReady(t, s, "copy")

	c := clientOf(t, s.InWorkspace("copy"))
	found, err := dynamicOf(t, s.InWorkspace("copy")).Resource(widgets).Namespace("shop").List(ctx, metav1.ListOptions{})
	if err != nil || len(found.Items) != 2 {
		t.Errorf("the custom resources are %v, %v", found, err)
	}
	owned, err := c.CoreV1().ConfigMaps("shop").Get(ctx, "owned", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.CoreV1().ConfigMaps("shop").Get(ctx, "owner", metav1.GetOptions{})
	if err != nil || m.UID == owner || owned.OwnerReferences[0].UID != m.UID {
		t.Errorf("the owner %s of %v was %s, %v", m.UID, owned.OwnerReferences, owner, err)
	}
	if n, err := c.CoreV1().Namespaces().Get(ctx, "shop", metav1.GetOptions{}); err != nil || n.Labels["a"] != "b" {
		t.Errorf("the namespace is %v, %v", n, err)
	}
	if bindings, err := c.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{}); err != nil || !strings.Contains(bindings.String(), "Name:team") {
		t.Errorf("the bindings are %v, %v", bindings, err)
	}
	testNotCopied(t, s, c)
	for name, want := range map[string]bool{"base": true, "copy": false} {
		if _, err := as(t, s, "/workspaces/"+name, token).Discovery().ServerVersion(); apierrors.IsUnauthorized(err) == want {
			t.Errorf("a token of the template in %s: %v", name, err)
		}
	}
}

// testNotCopied reads what a copy must not have.
func testNotCopied(t *testing.T, s *testserver.Server, c *kubernetes.Clientset) {
	t.Helper()
	ctx := bounded(t)
	secrets, err := c.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	if err != nil || len(secrets.Items) != 1 || secrets.Items[0].Name != "password" {
		t.Errorf("the secrets are %v, %v", secrets, err)
	}
	leases, err := c.CoordinationV1().Leases("shop").List(ctx, metav1.ListOptions{})
	if err != nil || len(leases.Items) != 0 {
		t.Errorf("the leases are %v, %v", leases, err)
	}
	events, err := c.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
	if err != nil || len(events.Items) != 0 {
		t.Errorf("the events are %v, %v", events, err)
	}
	_, err = objects(t, s).Patch(ctx, "copy", types.MergePatchType, []byte(`{"spec":{"template":{"name":"other"}}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("the template was changed: %v", err)
	}
}

// Who may not read all objects of a workspace cannot copy it, and does not learn whether it exists.
func TestTemplateRights(t *testing.T) {
	s := startTenants(t)
	ctx, root := bounded(t), clientOf(t, s.Config())
	s.AddUser("mallory")
	allow := func(name string, rule rbacv1.PolicyRule) {
		t.Helper()
		if _, err := root.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, user := range []string{"alice", "mallory"} {
			if err := grant(ctx, root, name, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}); err != nil {
				t.Fatal(err)
			}
		}
	}
	allow("creator", rbacv1.PolicyRule{APIGroups: []string{workspaces.GroupVersion.Group}, Resources: []string{"workspaces"}, Verbs: []string{"create"}})
	try := func(config *rest.Config, template string) error {
		w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": workspaces.GroupVersion.String(), "kind": "Workspace",
			"metadata": map[string]any{"generateName": "copy-"}, "spec": map[string]any{"template": map[string]any{"name": template}}}}
		_, err := dynamicOf(t, config).Resource(workspaces.GroupVersion.WithResource(workspaces.Plural)).Create(ctx, w, metav1.CreateOptions{DryRun: []string{"All"}})
		return err
	}
	alice, mallory := s.in(""), s.AddUser("mallory").Config()
	await(t, "the role", func() (bool, error) {
		err := try(alice, "a")
		return err == nil, ignoring(err, apierrors.IsForbidden)
	})
	impersonating := s.Config()
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "mallory"}
	for name, config := range map[string]*rest.Config{"another user": mallory, "an administrator as another user": impersonating} {
		exists, missing := try(config, "a"), try(config, "x")
		if !apierrors.IsInvalid(exists) || !apierrors.IsInvalid(missing) {
			t.Fatalf("%s: %v, %v", name, exists, missing)
		}
		shown := func(err error) string {
			_, text, _ := strings.Cut(err.Error(), "spec.template")
			return text
		}
		if shown(exists) != strings.ReplaceAll(shown(missing), `"x"`, `"a"`) {
			t.Errorf("%s: %q is not %q", name, exists, missing)
		}
	}
	if err := try(alice, "b"); !apierrors.IsInvalid(err) {
		t.Errorf("the administrator of another workspace: %v", err)
	}
	allow("reader", rbacv1.PolicyRule{APIGroups: []string{workspaces.GroupVersion.Group}, Resources: []string{"workspaces/content"}, ResourceNames: []string{"a"}, Verbs: []string{"get"}})
	await(t, "the right to read", func() (bool, error) {
		err := try(mallory, "a")
		return err == nil, ignoring(err, apierrors.IsInvalid)
	})
	if err := try(mallory, "b"); !apierrors.IsInvalid(err) {
		t.Errorf("a workspace that the role does not name: %v", err)
	}
}

// A failure of a copy is in the condition Ready, and a later workspace of the template's name is not copied.
func TestTemplateFailures(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces())
	ctx := bounded(t)
	create(t, s, with("base"))
	maps := clientOf(t, s.InWorkspace("base")).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, settings("m"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	small, none := from("small", "base"), int64(0)
	small.Spec.Quota = &workspaces.Quota{Objects: &none}
	create(t, s, small)
	failure := func(name, want string) {
		t.Helper()
		await(t, want, func() (bool, error) {
			ready, reason, message := readiness(t, s, name)
			return ready == "False" && reason == "InitialObjectsFailed" && strings.Contains(message, want), nil
		})
	}
	failure("small", "objects were not imported: ")
	failure("small", "exceeded quota")
	if _, err := objects(t, s).Patch(ctx, "small", types.MergePatchType, []byte(`{"spec":{"quota":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, s, "small")

	suspended := from("late", "base")
	suspended.Spec.Suspended = true // so that the copy begins later
	create(t, s, suspended)
	if err := objects(t, s).Delete(ctx, "base", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the deletion", func() (bool, error) {
		_, err := objects(t, s).Get(ctx, "base", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoring(err, apierrors.IsNotFound)
	})
	create(t, s, with("base"))
	if _, err := objects(t, s).Patch(ctx, "late", types.MergePatchType, []byte(`{"spec":{"suspended":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	failure("late", "it was deleted before it was copied")
}
