package attacks

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// startWorkspaces starts a server with the workspaces a and b, each with a service account "tenant" that may do
// everything in it. It returns their clients.
func startWorkspaces(t *testing.T, args ...string) (s *target, a, b tenant) {
	s = start(t, append([]string{"--workspaces", "--controllers=*"}, args...)...)
	return s, s.tenant("a"), s.tenant("b")
}

// tenant is the service account of a workspace.
type tenant struct {
	*harness.Server
	client
	token string
}

func (s *target) tenant(name string) tenant {
	s.t.Helper()
	w := s.Workspace(s.t, name)
	s.eventually("the workspace has accounts", 10*time.Second, func() bool {
		_, err := w.TryKubectl(s.t, "", "create", "serviceaccount", "tenant")
		return err == nil
	})
	w.Kubectl(s.t, "create", "clusterrolebinding", "tenant", "--clusterrole=cluster-admin",
		"--serviceaccount=default:tenant")
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken = strings.TrimSpace(w.Kubectl(s.t, "create", "token", "tenant"))
	config.Proxy = http.ProxyFromEnvironment // its own transport
	transport, err := rest.TransportFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	t := tenant{w, client{&http.Client{Transport: transport}, w.Config.Host}, config.BearerToken}
	s.eventually("the tenant may write", 10*time.Second, func() bool {
		return get(s.t.Context(), t.client, "/api/v1/configmaps") == http.StatusOK
	})
	return t
}

// send sends a request and returns the code and the body.
func (c client) send(t *testing.T, method, path string, body any) (int, string) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.host+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The administrator of a workspace approves her own request for a certificate of the server's administrators. The
// certificate would be valid in the root and in all workspaces.
func TestCertificatesFromAWorkspace(t *testing.T) {
	t.Parallel() // it waits most of the time
	_, a, _ := startWorkspaces(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "root", Organization: []string{"a-group"}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	certificates := kubernetes.NewForConfigOrDie(a.Config).CertificatesV1().CertificateSigningRequests()
	for _, signer := range []string{certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName} {
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "mine-"}, Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}}}
		if csr, err = certificates.Create(t.Context(), csr, metav1.CreateOptions{}); err != nil {
			continue // refused at once
		}
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Mine"}}
		if csr, err = certificates.UpdateApproval(t.Context(), csr.Name, csr, metav1.UpdateOptions{}); err != nil {
			continue
		}
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if csr, err = certificates.Get(t.Context(), csr.Name, metav1.GetOptions{}); err == nil && len(csr.Status.Certificate) > 0 {
				t.Fatalf("%s was signed", signer)
			}
		}
	}
}

// A tenant lists everything on many connections. Tenants of other workspaces would be rejected with 429, or wait.
func TestFloodsOfAWorkspace(t *testing.T) {
	s, a, b := startWorkspaces(t, "--max-requests-inflight=8", "--max-mutating-requests-inflight=4")
	data := map[string]string{"k": strings.Repeat("v", 50_000)}
	for _, w := range []tenant{a, b} {
		maps := kubernetes.NewForConfigOrDie(w.Config).CoreV1().ConfigMaps("default")
		n := 1
		if w == a {
			n = 40
		}
		for i := range n {
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}, Data: data}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	flood := make(chan struct{})
	var rejected atomic.Int64
	for range 32 {
		go func() {
			defer func() { flood <- struct{}{} }()
			for ctx.Err() == nil {
				if get(ctx, a.client, "/api/v1/configmaps") == http.StatusTooManyRequests {
					rejected.Add(1)
				}
			}
		}()
	}
	s.eventually("the flood has begun", 20*time.Second, func() bool {
		return strings.Contains(s.get("/debug/api_priority_and_fairness/dump_requests"), "a/system:serviceaccount:default:tenant")
	})
	var slowest time.Duration
	for range 100 {
		begun := time.Now()
		if code := get(t.Context(), b.client, "/api/v1/namespaces/default/configmaps/m0"); code != http.StatusOK {
			t.Errorf("a get in another workspace is answered %d", code)
		}
		slowest = max(slowest, time.Since(begun))
	}
	stop()
	for range 32 {
		<-flood
	}
	if t.Logf("the slowest get of another workspace took %v, %d requests of the flood were rejected", slowest, rejected.Load()); slowest > 5*time.Second {
		t.Errorf("a get in another workspace took %v", slowest)
	}
}

// A user with permissions in one workspace alone, or with "list" but not "watch", reads all workspaces.
func TestReadingAllWorkspaces(t *testing.T) {
	s, a, b := startWorkspaces(t)
	b.Kubectl(t, "create", "secret", "generic", "of-b", "--from-literal=k=what-only-b-knows")
	lists := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "lists"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"workspaces.triplane.dev"}, Resources: []string{"workspaces/content"}, Verbs: []string{"list"}}}}
	if _, err := kubernetes.NewForConfigOrDie(s.Config).RbacV1().ClusterRoles().Create(t.Context(), &lists, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listing := s.user("listing")
	s.Kubectl(t, "create", "clusterrolebinding", "lists", "--clusterrole=lists", "--serviceaccount=default:listing")
	s.Kubectl(t, "create", "clusterrolebinding", "views", "--clusterrole=view", "--serviceaccount=default:viewing")
	viewing := s.user("viewing")
	s.eventually("one may list", 10*time.Second, func() bool { return get(t.Context(), listing, "/workspaces/*/api/v1/secrets") == http.StatusOK })
	root := a.client
	root.host = s.Config.Host
	for _, try := range []struct {
		who    string
		client client
		method string
		path   string
		want   []int
	}{
		{"a tenant lists", root, "GET", "/workspaces/*/api/v1/secrets", []int{401}},
		{"a tenant lists, with escapes", root, "GET", "/workspaces/%2a/api/v1/secrets", []int{401}},
		{"a tenant lists from inside", a.client, "GET", "/workspaces/*/api/v1/secrets", []int{404}},
		{"a viewer of the root lists", viewing, "GET", "/workspaces/*/api/v1/configmaps", []int{403}},
		{"who may list watches", listing, "GET", "/workspaces/*/api/v1/secrets?watch=true&timeoutSeconds=1", []int{403}},
		{"who may list watches by the path", listing, "GET", "/workspaces/*/api/v1/watch/secrets?timeoutSeconds=1", []int{403, 404, 405}},
		{"who may list gets", listing, "GET", "/workspaces/*/api/v1/namespaces/default/secrets/of-b", []int{403, 405}},
		{"who may list reads a workspace", listing, "GET", "/workspaces/b/api/v1/secrets", []int{401}},
		{"who may list deletes", listing, "DELETE", "/workspaces/*/api/v1/namespaces/default/secrets", []int{403, 405}},
		{"who may list creates", listing, "POST", "/workspaces/*/api/v1/namespaces/default/secrets", []int{403, 405}},
		{"who may list reads other paths", listing, "GET", "/workspaces/*/metrics", []int{403, 404, 405}},
		{"who may list goes up", listing, "GET", "/workspaces/*/../b/api/v1/secrets", []int{400, 403, 404}},
	} {
		code, body := try.client.send(t, try.method, try.path, map[string]any{})
		ok := false
		for _, want := range try.want {
			ok = ok || code == want
		}
		if !ok || strings.Contains(body, "d2hhdC1vbmx5LWIta25vd3M") {
			t.Errorf("%s: %d %.200s", try.who, code, body)
		}
	}
}

// Continue tokens that name keys of another workspace, and resource versions of its objects.
func TestTokensAndVersionsOfOthers(t *testing.T) {
	t.Parallel() // it waits most of the time
	s, a, b := startWorkspaces(t)
	b.Kubectl(t, "create", "configmap", "of-b", "--from-literal=k=what-only-b-knows")
	mine := kubernetes.NewForConfigOrDie(a.Config).CoreV1().ConfigMaps("default")
	first, err := mine.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := kubernetes.NewForConfigOrDie(b.Config).CoreV1().ConfigMaps("default").Get(t.Context(), "of-b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uid := s.Kubectl(t, "get", "workspace", "b", "-o", "jsonpath={.metadata.uid}")
	var paths []string
	for _, key := range []string{"default/", "../../.workspaces/b." + uid + "/configmaps/default/", "/registry/.workspaces/b." + uid + "/configmaps/", "../b." + uid + "/configmaps/"} {
		token, err := json.Marshal(map[string]any{"v": "meta.k8s.io/v1", "rv": theirs.ResourceVersion, "start": key})
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range [][]byte{token, []byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"` + key + `"}`), []byte(`{"rv":1,"ws":"b"}`)} {
			paths = append(paths, "/api/v1/configmaps?limit=5&continue="+base64.RawURLEncoding.EncodeToString(token))
		}
	}
	for _, version := range []string{theirs.ResourceVersion, "1", "0", "9223372036854775807"} {
		for _, match := range []string{"", "&resourceVersionMatch=Exact", "&resourceVersionMatch=NotOlderThan"} {
			paths = append(paths, "/api/v1/configmaps?resourceVersion="+version+match)
		}
		paths = append(paths, "/api/v1/namespaces/default/configmaps/of-b?resourceVersion="+version,
			"/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion="+version,
			"/api/v1/configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion="+version)
	}
	for _, path := range paths {
		code, body := a.send(t, "GET", path, nil)
		if strings.Contains(body, "what-only-b-knows") || strings.Contains(body, `"name":"of-b","namespace"`) || code >= 500 && code != 504 {
			t.Errorf("%s: %d %.300s", path, code, body)
		}
	}
	// A write that expects the version of another workspace's object is a conflict, not a write there.
	first.ResourceVersion, first.UID = theirs.ResourceVersion, theirs.UID
	if _, err := mine.Update(t.Context(), first, metav1.UpdateOptions{}); err == nil {
		t.Error("an update with the version of another workspace's object succeeded")
	}
	first.Name = "of-b"
	if _, err := mine.Update(t.Context(), first, metav1.UpdateOptions{}); err == nil {
		t.Error("an update of another workspace's object succeeded")
	}
	again, err := kubernetes.NewForConfigOrDie(b.Config).CoreV1().ConfigMaps("default").Get(t.Context(), "of-b", metav1.GetOptions{})
	if err != nil || again.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("the object is %v, %v", again, err)
	}
}
