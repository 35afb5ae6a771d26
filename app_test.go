package triplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"go.uber.org/goleak"

	"triplane.dev/generic/guard/authentication/serviceaccount/external/externaltest"
	"triplane.dev/kubeapi/controllers"
)

// testOptions returns options of a server without controllers.
func testOptions(dir string) *Options {
	o := NewOptions()
	o.DataDir = dir
	o.SecureServing.BindPort = 0
	o.Controllers.Selection = []string{controllers.None}
	return o
}

func startServer(t *testing.T, dir string) *Server {
	t.Helper()
	return startServerWith(t, testOptions(dir))
}

func startServerWith(t *testing.T, o *Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

func client(t *testing.T, s *Server) kubernetes.Interface {
	t.Helper()
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStartsThatFailLeaveNothing(t *testing.T) {
	// The only goroutine of the signer's server ends with its connections.
	signer := &externaltest.Process{Seconds: 3600, Hint: 3600}
	socket := signer.Start(t)
	before := goleak.IgnoreCurrent()
	o := testOptions(t.TempDir())
	o.Authentication.ServiceAccount.SigningEndpoint = socket
	o.Admission.ConfigFile = filepath.Join(t.TempDir(), "none.yaml")
	if s, err := Start(t.Context(), o); err == nil {
		t.Fatal("a server starts without the configuration that it is told to use", s.Stop())
	}
	goleak.VerifyNone(t, before)
	if signer.Fetched() == 0 {
		t.Error("the signer was not asked before the start failed")
	}
}

func TestServersRunSideBySideAndLeaveNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	servers := make([]*Server, 2)
	var all sync.WaitGroup
	for i := range servers {
		dir := t.TempDir()
		all.Go(func() {
			var err error
			o := testOptions(dir)
			o.Controllers.Selection = nil // all
			if servers[i], err = Start(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	ctx := context.Background()
	for i, s := range servers {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "only-" + string(rune('a'+i))}}
		loopback := kubernetes.NewForConfigOrDie(s.ClientConfig())
		if _, err := loopback.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client(t, s).CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	list, err := client(t, servers[0]).CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return n.Name == "only-b" }) {
		t.Error("one server sees the other's objects")
	}
	for _, s := range servers {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"))
}

func TestRestartKeepsEverything(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	first := startServer(t, dir)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	created, err := client(t, first).CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := os.ReadFile(filepath.Join(dir, "pki", "admin.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, testOptions(dir)); err == nil || !strings.Contains(err.Error(), "in use by another") {
		t.Errorf("a second server took the data directory: %v", err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	second := startServer(t, dir)
	got, err := client(t, second).CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.UID != created.UID || got.ResourceVersion != created.ResourceVersion {
		t.Errorf("%v, before %v", got.ObjectMeta, created.ObjectMeta)
	}
	if again, _ := os.ReadFile(filepath.Join(dir, "pki", "admin.crt")); !bytes.Equal(again, admin) {
		t.Error("the administrator has another certificate")
	}
}

func TestPortInUse(t *testing.T) {
	s := startServer(t, t.TempDir())
	o := testOptions(t.TempDir())
	o.SecureServing.BindPort = s.running.Config().Serving.Port()
	if _, err := Start(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--secure-port") {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args, wrong string
	}{
		{"", ""},
		{"--secure-port=7443 --data-dir=/x --authorization-mode=RBAC", ""},
		{"--service-cluster-ip-range=10.0.0.0/16,fd00::/112", ""},
		{"--nosuch", "unknown flag: --nosuch; see triplane --help"},
		{"--secure-port=70000", "--secure-port 70000 is not a port"},
		{"--service-cluster-ip-range=10.0.0.1/16", "use 10.0.0.0/16"},
		{"--service-cluster-ip-range=10.0.0.0/16,10.1.0.0/16", "one of IPv4 and one of IPv6"},
		{"--authorization-mode=Maybe", `"Maybe" is not one of`},
		{"--authorization-mode=ABAC", "--authorization-policy-file require each other"},
		{"--tls-cert-file=a", "must be given together"},
		{"--etcd-servers=127.0.0.1:2379", "is not a URL such as"},
		{"--etcd-cafile=a", "need --etcd-servers"},
		{"--requestheader-client-ca-file=a", "needs --requestheader-username-headers"},
		{"--service-account-jwks-uri=http://keys", "needs the scheme https"},
		{"--service-account-jwks-uri=https://keys/jwks", ""},
		{"--oidc-username-prefix=-", "need --oidc-issuer-url and --oidc-client-id"},
		{"--cors-allowed-origins=example.com", "must match the entire host"},
		{"--cors-allowed-origins=//example\\.com(:|$)", ""},
		{"--watch-cache-sizes=pods", `"pods" is not resource[.group]#size`},
		{"--watch-cache-sizes=pods#-1", `"pods#-1" is not resource[.group]#size`},
		{"--watch-cache-sizes=pods#10,deployments.apps#0", ""},
		{"--etcd-servers-overrides=a/b/c#http://a:2379", "must be of format"},
		{"--show-hidden-metrics-for-version=1.36", ""},
		{"--show-hidden-metrics-for-version=1.35", `"1.35" is not one of`},
		{"--enable-admission-plugins=Nobody", `there is no plugin "Nobody"`},
		{"--goaway-chance=1 --max-requests-inflight=-1", "; "},
		{"serve", "is neither a flag nor a command"},
	} {
		_, err := Parse("", append(strings.Fields(c.args), ""), nil)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", c.args, err, c.wrong)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than a line: %v", c.args, err)
		}
	}
}

func TestHelpNamesFlagsByConcern(t *testing.T) {
	var out bytes.Buffer
	o, err := Parse("", []string{"--help"}, &out)
	if o != nil || err != nil {
		t.Fatal(o, err)
	}
	for _, text := range []string{"Secure serving flags:", "Etcd flags:", "--data-dir", "--authorization-mode", "Admission flags:"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q", text)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(context.Background(), testOptions(b.TempDir()))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
