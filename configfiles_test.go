package triplane

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/guard/authentication/jwt/jwttest"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// bearer sends requests with a token, "" for none.
type bearer struct {
	t      *testing.T
	client *http.Client
	host   string
}

func newBearer(t *testing.T, s *Server) bearer {
	t.Helper()
	admin, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := restclient.HTTPClientFor(restclient.AnonymousClientConfig(admin))
	if err != nil {
		t.Fatal(err)
	}
	return bearer{t, client, admin.Host}
}

func (b bearer) do(method, path, token, body string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.host+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// whoami returns the user of a token, or the status code.
func (b bearer) whoami(token string) string {
	b.t.Helper()
	code, body := b.do(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", token, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	var review struct {
		Status struct{ UserInfo struct{ Username string } }
	}
	if code != http.StatusCreated {
		return fmt.Sprint(code)
	}
	if err := json.Unmarshal([]byte(body), &review); err != nil {
		b.t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	return file
}

func indent(pem string) string { return strings.ReplaceAll(strings.TrimSpace(pem), "\n", "\n      ") }

func authenticationConfig(i *jwttest.Issuer) string {
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions: [{path: /livez}]
jwt:
- issuer:
    url: %s
    audiences: [triplane]
    certificateAuthority: |
      %s
  claimMappings:
    username: {expression: "'ext:' + claims.sub"}
  userValidationRules:
  - {expression: "!user.username.startsWith('system:')"}
`, i.URL, indent(i.CA))
}

// Both configuration files are replaced while the server runs: by another issuer, another webhook, and invalid
// content.
func TestConfigurationFilesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	one, two := jwttest.New(t), jwttest.New(t)
	allows := reviews(t, func(s *authorizationv1.SubjectAccessReviewSpec) string {
		return `{"allowed":` + fmt.Sprint(s.User == "ext:sub-1") + `}`
	})
	denies := reviews(t, func(*authorizationv1.SubjectAccessReviewSpec) string { return `{"denied":true,"reason":"closed"}` })
	authn := write(t, filepath.Join(dir, "authn.yaml"), authenticationConfig(one))
	authz := write(t, filepath.Join(dir, "authz.yaml"), authorizationConfig(allows))
	o := testOptions(dir)
	o.Authentication.ConfigFile, o.Authorization.ConfigFile = authn, authz
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	b := newBearer(t, s)
	eventually(t, "the issuer is known", func() bool { return b.whoami(one.Token(nil)) == "ext:sub-1" })
	if code, _ := b.do(http.MethodGet, "/livez", "", ""); code != http.StatusOK {
		t.Errorf("anonymous at /livez: %d", code)
	}
	if code, _ := b.do(http.MethodGet, "/version", "", ""); code != http.StatusUnauthorized {
		t.Errorf("anonymous at /version: %d", code)
	}
	if code, body := b.do(http.MethodGet, "/api/v1/namespaces", one.Token(nil), ""); code != http.StatusOK {
		t.Errorf("the webhook's user: %d %s", code, body)
	}
	if code, _ := b.do(http.MethodGet, "/api/v1/secrets", one.Token(nil), ""); code != http.StatusForbidden {
		t.Errorf("a request that the condition keeps from the webhook: %d", code)
	}

	write(t, authz, strings.Replace(authorizationConfig(denies), "type: RBAC", "type: AlwaysAllow", 1)) // not taken: a type comes
	write(t, authn, "kind: Nonsense")
	eventually(t, "both are counted", func() bool {
		metrics := s.metrics(t)
		return strings.Contains(metrics, `apiserver_authentication_config_controller_automatic_reloads_total{`) && strings.Contains(metrics, `apiserver_authorization_config_controller_automatic_reloads_total{`)
	})
	if got := b.whoami(one.Token(nil)); got != "ext:sub-1" {
		t.Errorf("after broken files: %s", got)
	}
	write(t, authz, authorizationConfig(denies))
	eventually(t, "the other webhook decides", func() bool {
		code, body := b.do(http.MethodGet, "/api/v1/namespaces", one.Token(nil), "")
		return code == http.StatusForbidden && strings.Contains(body, "closed")
	})
	write(t, authz, authorizationConfig(allows))
	write(t, authn, authenticationConfig(two))
	eventually(t, "the other issuer is known", func() bool { return b.whoami(two.Token(nil)) == "ext:sub-1" })
	if got := b.whoami(one.Token(nil)); got != "401" {
		t.Errorf("a token of the issuer that is gone: %s", got)
	}
}

func (s *Server) metrics(t *testing.T) string {
	t.Helper()
	raw, err := client(t, s).CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// reviews starts a webhook for SubjectAccessReviews, and returns its kubeconfig.
func reviews(t *testing.T, status func(*authorizationv1.SubjectAccessReviewSpec) string) string {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"status":%s}`, status(&review.Spec))
	}))
	t.Cleanup(service.Close)
	return write(t, filepath.Join(t.TempDir(), "kubeconfig"), fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", service.URL))
}

func authorizationConfig(kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: hook
  webhook:
    timeout: 5s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
    matchConditions:
    - expression: has(request.resourceAttributes) && request.resourceAttributes.resource == 'namespaces' && !request.user.startsWith('system:')
- {type: RBAC, name: rbac}
`, kubeconfig)
}

func TestFlagsOfOpenIDConnect(t *testing.T) {
	issuer := jwttest.New(t)
	dir := t.TempDir()
	o := testOptions(dir)
	oidc := &o.Authentication.OIDC
	oidc.IssuerURL, oidc.ClientID, oidc.CAFile = issuer.URL, "triplane", write(t, filepath.Join(dir, "ca"), issuer.CA)
	oidc.SigningAlgorithms = []string{"ES256"}
	oidc.RequiredClaims = map[string]string{"hd": "example.org"}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	b := newBearer(t, s)
	good := issuer.Token(map[string]any{"hd": "example.org"})
	eventually(t, "the issuer is known", func() bool { return b.whoami(good) == issuer.URL+"#sub-1" })
	if got := b.whoami(issuer.Token(nil)); got != "401" {
		t.Errorf("without the claim: %s", got)
	}
}

func TestAlwaysAllowHasNoAnonymousRequests(t *testing.T) {
	yes := true
	for want, asked := range map[int]*bool{http.StatusUnauthorized: nil, http.StatusOK: &yes} {
		o := testOptions(t.TempDir())
		o.Authorization.Modes, o.Authentication.Anonymous = []string{"AlwaysAllow"}, asked
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := newBearer(t, s).do(http.MethodGet, "/api/v1/secrets", "", ""); code != want {
			t.Errorf("anonymous asked for %v: %d", asked, code)
		}
		s.Stop()
	}
}

// The start does not wait for RBAC to enforce the default policy if RBAC does not authorize.
func TestPolicyIsAwaitedWithRBAC(t *testing.T) {
	for _, mode := range []string{"RBAC", "AlwaysAllow"} {
		o, config := testOptions(t.TempDir()), &server.Config{}
		o.Authorization.Modes, config.Metrics = []string{mode}, requestmetrics.New()
		a, err := newAuthorization(&foundation{options: o, config: config,
			stores: group.NewStores()})
		if err != nil || (a.inEffect != nil) != (mode == "RBAC") {
			t.Errorf("%s: waits %t, %v", mode, a.inEffect != nil, err)
		}
	}
}

// The use of a token in a Secret is recorded, and the token is rejected when it is marked invalid.
func TestTokenInSecret(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s := startServer(t, dir)
	c, b := client(t, s), newBearer(t, s)
	account, err := c.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := serviceaccount.ReadPrivateKey(s.options.Authentication.ServiceAccount.SigningKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	token := jwttest.Sign(t, jose.ES256, key, map[string]any{
		"iss": serviceaccount.LegacyIssuer, "sub": "system:serviceaccount:default:old", "kubernetes.io/serviceaccount/namespace": "default",
		"kubernetes.io/serviceaccount/secret.name": "old-token", "kubernetes.io/serviceaccount/service-account.name": "old",
		"kubernetes.io/serviceaccount/service-account.uid": string(account.UID),
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "old-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "old"}},
		Type:       corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte(token)},
	}
	if _, err := c.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.whoami(token); got != "system:serviceaccount:default:old" {
		t.Fatal(got)
	}
	stored, err := c.CoreV1().Secrets("default").Get(ctx, "old-token", metav1.GetOptions{})
	if err != nil || stored.Labels[serviceaccount.LastUsedLabel] != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("%v %v", stored.Labels, err)
	}
	stored.Labels[serviceaccount.InvalidSinceLabel] = "2026-01-01"
	if _, err := c.CoreV1().Secrets("default").Update(ctx, stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token is refused", func() bool { return b.whoami(token) == "401" })
}
