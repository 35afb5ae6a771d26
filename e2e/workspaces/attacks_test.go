// What an administrator of one workspace, or a user of none, tries in order to get out of it or into others.
package workspaces

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// tenants is a server with the workspaces "a", whose administrator is alice, and "b", whose administrator is bob.
type tenants struct {
	*testserver.Server
	alice *testserver.User
}

func startTenants(t *testing.T) tenants {
	t.Helper()
	s := testserver.Start(t, testserver.WithWorkspaces())
	for name, admin := range map[string]string{"a": "alice", "b": "bob"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: workspaces.Spec{
			Admins: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: admin}}}})
		if _, err := clientOf(t, s.InWorkspace(name)).CoreV1().ConfigMaps("default").Create(bounded(t), settings("of-"+name),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return tenants{s, s.AddUser("alice")}
}

// in returns alice's configuration for a path of the server.
func (s tenants) in(path string) *rest.Config {
	config := rest.CopyConfig(s.alice.Config())
	config.Host += path
	return config
}

// The network path decides about the workspace, however it is written.
func TestPathsDoNotLeadOut(t *testing.T) {
	s := startTenants(t)
	if _, err := clientOf(t, s.in("/workspaces/a")).CoreV1().ConfigMaps("default").Get(bounded(t), "of-a", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	const secret = "/api/v1/namespaces/default/configmaps/of-b"
	for _, path := range []string{
		"/workspaces/b" + secret, "/workspaces/a/../b" + secret, "/workspaces/a/%2e%2e/b" + secret,
		"/workspaces/a/..%2fb" + secret, "/workspaces/a%2f..%2fb" + secret, "/workspaces/a/workspaces/b" + secret,
		"//workspaces/b" + secret, "/workspaces//b" + secret, "/workspaces/a//workspaces/b" + secret, "/%77orkspaces/b" + secret,
		"/workspaces/./b" + secret, `/workspaces/a/..\b` + secret, "/workspaces/%62" + secret, "/workspaces/*" + secret,
		"/workspaces/a/.workspaces/b" + secret, "/workspaces/a/api/v1/namespaces/default/configmaps/..%2f..%2f..%2f.workspaces%2fb",
		"/workspaces/a/api/v1/namespaces/../configmaps/of-b",
	} {
		code, body := rawGet(t, s.alice.Config(), path)
		if code < 400 || strings.Contains(body, `"of-b"`) && code == http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// rawGet sends a GET with a path as it is, which net/http would clean.
func rawGet(t *testing.T, config *rest.Config, path string) (int, string) {
	t.Helper()
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	settings.ServerName, settings.NextProtos = u.Hostname(), []string{"http/1.1"}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", u.Host, settings)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodGet, "https://"+u.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + u.Host + path
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// A continue token names a key; in another workspace it must not name that of the first one.
func TestContinueTokensOfOthers(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	first := clientOf(t, s.InWorkspace("b")).CoreV1().ConfigMaps("default")
	for _, name := range []string{"x", "y"} {
		if _, err := first.Create(ctx, settings(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := first.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || page.Continue == "" {
		t.Fatalf("%v, %v", page, err)
	}
	all, err := clientOf(t, s.in("/workspaces/a")).CoreV1().ConfigMaps("default").List(ctx,
		metav1.ListOptions{Limit: 10, Continue: page.Continue})
	if err != nil {
		return // rejected
	}
	for _, m := range all.Items {
		if m.Name == "x" || m.Name == "y" || m.Name == "of-b" {
			t.Errorf("the token led to %s of another workspace", m.Name)
		}
	}
}

// The administrator of a workspace impersonates the server's administrators in it, and nowhere else.
func TestAdministratorsStayInside(t *testing.T) {
	s := startTenants(t)
	ctx := bounded(t)
	for path, allowed := range map[string]bool{"/workspaces/a": true, "/workspaces/b": false, "/workspaces/nowhere": false, "": false} {
		for name, impersonated := range map[string]rest.ImpersonationConfig{
			"herself": {}, "masters": {UserName: "root", Groups: []string{"system:masters"}},
		} {
			config := s.in(path)
			config.Impersonate = impersonated
			_, err := clientOf(t, config).CoreV1().Secrets("kube-system").List(ctx, metav1.ListOptions{})
			if allowed && err != nil || !allowed && !apierrors.IsForbidden(err) {
				t.Errorf("as %s in %q: %v", name, path, err)
			}
		}
	}
}

// Endpoints of the process are not in workspaces, not even for the server's administrators.
func TestEndpointsOfTheProcess(t *testing.T) {
	s := startTenants(t)
	for _, path := range []string{"/metrics", "/metrics/slis", "/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v", "/debug/chain", "/debug/audit",
		"/logs/", "/etcd/snapshot", "/etcd/members", "/flagz", "/statusz", "/console/", "/swagger-ui/",
		"/apis/workspaces.triplane.dev/v1alpha1/workspaces", "/workspaces/b/api"} {
		if code, body := rawGet(t, s.TLSConfig(), "/workspaces/a"+path); code != http.StatusNotFound {
			t.Errorf("%s: %d %.100s", path, code, body)
		}
	}
}
