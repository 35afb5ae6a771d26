// Workspaces are separate API servers: the content of one is not visible in another.
package workspaces

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/testserver"
)

const patience = time.Minute

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// settings returns a config map.
func settings(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}
}

// Objects, resources and discovery of a workspace are its own.
func TestWorkspacesAreSeparate(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces())
	ctx := bounded(t)
	first, second := clientOf(t, s.Workspace(t)), clientOf(t, s.Workspace(t))
	if _, err := first.CoreV1().ConfigMaps("default").Create(ctx, settings("mine"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watched, err := second.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for name, other := range map[string]*kubernetes.Clientset{"another workspace": second, "the root": clientOf(t, s.Config())} {
		if _, err := other.CoreV1().ConfigMaps("default").Get(ctx, "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s has the object: %v", name, err)
		}
		all, err := other.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all.Items {
			if m.Name == "mine" {
				t.Errorf("%s lists the object", name)
			}
		}
	}
	if _, err := first.CoreV1().ConfigMaps("default").Create(ctx, settings("unseen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.CoreV1().ConfigMaps("default").Create(ctx, settings("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for e := range watched.ResultChan() {
		switch m, _ := e.Object.(*corev1.ConfigMap); {
		case m == nil:
			t.Fatalf("the watch received %v", e)
		case m.Name == "mine" || m.Name == "unseen":
			t.Fatalf("the watch received %s of another workspace", m.Name)
		case m.Name == "seen":
			return
		}
	}
	t.Error("the watch ended")
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// A custom resource is served where its definition is, and a namespace with it ends.
func TestCustomResourcesInAWorkspace(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	ctx := bounded(t)
	with, without := s.Workspace(t), s.Workspace(t)
	createWidgets(t, with)
	mine, err := dynamic.NewForConfig(with)
	if err != nil {
		t.Fatal(err)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(1)}}}
	if _, err := clientOf(t, with).CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Resource(widgets).Namespace("ends").Create(ctx, widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	other, err := dynamic.NewForConfig(without)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Resource(widgets).Namespace("default").List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("another workspace serves the custom resource: %v", err)
	}
	if err := clientOf(t, with).CoreV1().Namespaces().Delete(ctx, "ends", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the namespace", func() (bool, error) {
		_, err := clientOf(t, with).CoreV1().Namespaces().Get(ctx, "ends", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoring(err, apierrors.IsNotFound)
	})
}

func ignoring(err error, is func(error) bool) error {
	if is(err) {
		return nil
	}
	return err
}

func await(t *testing.T, what string, done func() (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return done() })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// createWidgets creates a CustomResourceDefinition and returns when it is served.
func createWidgets(t *testing.T, config *rest.Config) {
	t.Helper()
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t)
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
					"properties": map[string]any{"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}},
		},
	}}
	if _, err := client.Resource(definitions).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the custom resource", func() (bool, error) {
		_, err := client.Resource(widgets).List(ctx, metav1.ListOptions{})
		return err == nil, ignoring(err, apierrors.IsNotFound)
	})
}

// A service account's token is valid in its workspace only, and RBAC of the workspace decides.
func TestTokensOfAWorkspace(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	ctx := bounded(t)
	home, away := s.Workspace(t), s.Workspace(t)
	token := createToken(t, home)
	if err := grant(ctx, clientOf(t, home), "view", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: "robot"}); err != nil {
		t.Fatal(err)
	}
	path := func(config *rest.Config) string { return config.Host[len(s.Config().Host):] }
	await(t, "the role", func() (bool, error) {
		_, err := as(t, s, path(home), token).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err == nil, ignoring(err, apierrors.IsForbidden)
	})
	for name, elsewhere := range map[string]string{"another workspace": path(away), "the root": "", "no workspace": "/workspaces/nowhere"} {
		_, err := as(t, s, elsewhere, token).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("%s accepts the token: %v", name, err)
		}
	}
	root := createToken(t, s.Config())
	if _, err := as(t, s, path(home), root).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the workspace accepts a token of the root: %v", err)
	}
}

// createToken returns a token of the service account robot.
func createToken(t *testing.T, config *rest.Config) string {
	t.Helper()
	client, ctx := clientOf(t, config), bounded(t)
	accounts := client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(ctx, "robot", tokenRequest(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// as returns a client over TLS with a bearer token.
func as(t *testing.T, s *testserver.Server, path, token string) *kubernetes.Clientset {
	t.Helper()
	config := rest.AnonymousClientConfig(s.TLSConfig())
	config.Host, config.BearerToken = s.TLSConfig().Host+path, token
	return clientOf(t, config)
}

func grant(ctx context.Context, c kubernetes.Interface, role string, to rbacv1.Subject) error {
	_, err := c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "given-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{to},
	}, metav1.CreateOptions{})
	return err
}

// A user without a binding gets the same response from a workspace that exists and from one that does not.
func TestWorkspacesCannotBeGuessed(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	ctx := bounded(t)
	exists := s.Workspace(t)
	name := filepath.Base(exists.Host)
	if _, err := clientOf(t, exists).Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	stranger := s.AddUser("stranger").Config()
	for _, path := range []string{"/api", "/version", "/apis/apps/v1/deployments", "/readyz", "/metrics", "/openapi/v2"} {
		var said []string
		for _, workspace := range []string{name, "nowhere"} {
			config := rest.CopyConfig(stranger)
			config.Host += "/workspaces/" + workspace
			answer := clientOf(t, config).Discovery().RESTClient().Get().AbsPath(path).Do(ctx)
			body, err := answer.Raw()
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s in %s: %s, %v", path, workspace, body, err)
			}
			said = append(said, string(body))
		}
		if said[0] != said[1] {
			t.Errorf("%s: %q is not %q", path, said[0], said[1])
		}
	}
	if err := grant(ctx, clientOf(t, exists), "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "stranger"}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(stranger)
	config.Host += "/workspaces/" + name
	await(t, "the role", func() (bool, error) {
		_, err := clientOf(t, config).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err == nil, ignoring(err, apierrors.IsForbidden)
	})
	admin := rest.CopyConfig(s.TLSConfig())
	admin.Host += "/workspaces/nowhere"
	if _, err := clientOf(t, admin).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an administrator got %v from a workspace that does not exist", err)
	}
}
