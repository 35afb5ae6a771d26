package authoptions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/user"
)

// coreServer is an API server that authenticates one token and authorizes one user, and counts requests.
type coreServer struct {
	*httptest.Server
	tokens, accesses atomic.Int32
	configMap        atomic.Pointer[string] // its data; nil is not found
}

func startCore(t *testing.T) (c *coreServer, kubeconfig string) {
	t.Helper()
	c = &coreServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		c.tokens.Add(1)
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if review.Status.Authenticated = review.Spec.Token == "good"; review.Status.Authenticated {
			review.Status.User.Username = "jane"
		}
		_ = json.NewEncoder(w).Encode(review) // the client may have gone
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		c.accesses.Add(1)
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Status.Allowed = review.Spec.User == "jane"
		_ = json.NewEncoder(w).Encode(review) // the client may have gone
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		data := c.configMap.Load()
		if data == nil {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"none"}`)
			return
		}
		fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"extension-apiserver-authentication","resourceVersion":"1"},"data":%s}`, *data)
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n", c.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, kubeconfig
}

func TestDelegatedAuthentication(t *testing.T) {
	core, kubeconfig := startCore(t)
	o := NewDelegatedAuthentication()
	o.KubeconfigFile = kubeconfig
	if _, err := o.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "extension-apiserver-authentication-reader") {
		t.Errorf("without the config map: %v", err)
	}
	bad := `{"client-ca-file":"nonsense"}`
	core.configMap.Store(&bad)
	if _, err := o.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "client-ca-file: no certificates") {
		t.Errorf("with a config map that makes no sense: %v", err)
	}
	o.TolerateLookupFailure = true
	if a, err := o.Build(t.Context()); err != nil {
		t.Errorf("tolerated: %v", err)
	} else if err := a.Close(); err != nil {
		t.Error(err)
	}
	o.SkipLookup = true
	a, err := o.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		header, user string
		asked        int32
	}{{"", user.Anonymous, 0}, {"Bearer good", "jane", 1}, {"Bearer good", "jane", 1}, {"Bearer bad", "", 2}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		response, err := a.Request.AuthenticateRequest(r)
		name := ""
		if err == nil {
			name = response.User.Name
		}
		if name != c.user || core.tokens.Load() != c.asked {
			t.Errorf("%q is %q, %v, after %d questions", c.header, name, err, core.tokens.Load())
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestDelegatedAuthorization(t *testing.T) {
	core, kubeconfig := startCore(t)
	o := NewDelegatedAuthorization()
	o.KubeconfigFile = kubeconfig
	o.AlwaysAllowPaths = append(o.AlwaysAllowPaths, "/open/*")
	a, err := o.Build(metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, group, path string
		allowed           bool
		asked             int32
	}{
		{"jane", "", "/x", true, 1}, {"jane", "", "/x", true, 1}, {"joe", "", "/x", false, 2}, {"joe", "", "/x", false, 2},
		{"joe", "", "/healthz", true, 2}, {"joe", "", "/open/door", true, 2}, {"joe", "", "/healthz/etcd", false, 3}, {"root", user.SystemPrivileged, "/x", true, 3},
	} {
		decision, _, err := a.Authorize(t.Context(), &authorizer.Attributes{User: &user.Info{Name: c.name, Groups: []string{c.group}}, Verb: "get", Path: c.path})
		if (decision == authorizer.Allow) != c.allowed || err != nil || core.accesses.Load() != c.asked {
			t.Errorf("%+v: %v, %v, after %d questions", c, decision, err, core.accesses.Load())
		}
	}
}

func TestDelegatedOptionsAreValidated(t *testing.T) {
	authn, authz := NewDelegatedAuthentication(), NewDelegatedAuthorization()
	if errs := append(authn.Validate(), authz.Validate()...); len(errs) > 0 {
		t.Errorf("the defaults: %v", errs)
	}
	authn.CacheTTL, authz.DeniedTTL, authz.AlwaysAllowPaths = -time.Second, -time.Second, []string{"a", "/a*b"}
	authn.ClientCAFile, authn.RequestHeader.ClientCAFile = "ca", "ca"
	if errs := append(authn.Validate(), authz.Validate()...); len(errs) != 5 {
		t.Errorf("%d errors: %v", len(errs), errs)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := (&CoreAPI{}).Config(); err == nil || !strings.HasPrefix(err.Error(), "--kubeconfig is needed outside of a pod") {
		t.Error(err)
	}
	if _, err := NewDelegatedAuthorization().Build(nil); err == nil || !strings.HasPrefix(err.Error(), "--authorization-kubeconfig is needed") {
		t.Error(err)
	}
}
