package webhook

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

const users = `apiVersion: v1
kind: Config
users:
- {name: hook.ns.svc, user: {token: by-name}}
- {name: "hook.ns.svc:8443", user: {token: by-port}}
- {name: "*.ns.svc", user: {token: by-namespace}}
- {name: "*.svc", user: {token: by-suffix}}
- {name: mine, user: {token: by-context}}
contexts: [{name: c, context: {user: mine, cluster: x}}]
current-context: c
`

func credentials(t *testing.T, kubeconfig string) *Credentials {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := ReadConfiguration([]byte("apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: " + file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUserOfHost(t *testing.T) {
	c := credentials(t, users)
	for host, want := range map[string]string{
		"hook.ns.svc:443": "by-name", "hook.ns.svc:8443": "by-port", "other.ns.svc:443": "by-namespace", "a.b.svc:443": "by-suffix",
		"example.com:443": "by-context", "other.ns.svc:8443": "by-context", "127.0.0.1:1": "by-context",
	} {
		if got := c.user(host); got == nil || got.Token != want {
			t.Errorf("%s: %+v, want %s", host, got, want)
		}
	}
	if got := credentials(t, strings.Split(users, "contexts")[0]).user("example.com:443"); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestReadConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: relative}":        `kubeConfigFile: Invalid value: "relative": must be an absolute file path`,
		"{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: /does/not/exist}": "no such file or directory",
		"{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmission}":                                               `no kind "WebhookAdmission" is registered`,
		"{apiVersion: apiserver.config.k8s.io/v1alpha1, kind: WebhookAdmission, file: x}":                                `unknown field "file"`,
	} {
		if _, _, err := ReadConfiguration([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if c, _, err := ReadConfiguration(nil); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}

func TestCredentialsAreSent(t *testing.T) {
	var shown atomic.Value
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown.Store(r.Header.Get("Authorization")) }))
	defer s.Close()
	p := NewValidating(Config{Namespaces: nowhere, Credentials: credentials(t, users)})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(admissionv1.WebhookClientConfig{URL: ptr.To(s.URL), CABundle: bundle(s)}, nil)})
	defer p.Set(nil)
	if err := p.Validate(t.Context(), operation()); err == nil {
		t.Error("an empty answer was taken")
	}
	if got := shown.Load(); got != "Bearer by-context" {
		t.Errorf("%v", got)
	}
}
