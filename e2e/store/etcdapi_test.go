// etcd's client API of the embedded store, with etcd's own client and etcdctl.

package store

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
)

// TestEtcdClientAPI opens etcd's client API of the embedded store and uses it with etcd's own client,
// beside the API server, whose reads see at once what was written there.
func TestEtcdClientAPI(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	s := harness.Start(t, "--embedded-etcd-listen=https://"+address)
	keys := filepath.Join(s.DataDir, "pki", "etcd")
	harness.Eventually(t, func() error {
		if !strings.Contains(s.Output(), "etcd        --endpoints https://"+address) {
			return fmt.Errorf("it does not say what it opens:\n%s", s.Output())
		}
		return nil
	})
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	authority, err := os.ReadFile(filepath.Join(keys, "ca.crt"))
	if err != nil || !config.RootCAs.AppendCertsFromPEM(authority) {
		t.Fatalf("no authority: %v", err)
	}
	useIsRefused(t, address, config, "no certificate")
	admin, err := tls.LoadX509KeyPair(filepath.Join(s.DataDir, "pki", "admin.crt"),
		filepath.Join(s.DataDir, "pki", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{admin}
	useIsRefused(t, address, config, "a certificate of the server's own clients")

	pair, err := tls.LoadX509KeyPair(filepath.Join(keys, "client.crt"), filepath.Join(keys, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	etcd := etcdClient(t, "https://"+address, config)
	shareStore(t, s, etcd)
	if _, err := etcd.MemberAdd(t.Context(), []string{"http://127.0.0.1:1"}); err == nil {
		t.Error("it takes another member, and has no quorum any more")
	}
	if list, err := etcd.MemberList(t.Context()); err != nil || len(list.Members) != 1 {
		t.Errorf("members: %v, %v", list, err)
	}
	if _, err := etcd.AuthEnable(t.Context()); err == nil {
		t.Error("it takes users")
	}
	if status, err := etcd.Status(t.Context(), "https://"+address); err != nil || status.DbSize == 0 {
		t.Errorf("status: %v, %v", status, err)
	}
	if err := s.Terminate(t); err != nil {
		t.Errorf("a stop with a client: %v", err)
	}
}

// TestEtcdctl runs etcdctl against the embedded store, with the arguments that the server prints.
func TestEtcdctl(t *testing.T) {
	etcdctl := harness.Tool(t, programs.Etcdctl)
	s := harness.Start(t, fmt.Sprintf("--embedded-etcd-listen=https://127.0.0.1:%d", harness.FreePort(t)))
	var reach []string
	harness.Eventually(t, func() error {
		_, rest, is := strings.Cut(s.Output(), "  etcd        ")
		if line, _, whole := strings.Cut(rest, "\n"); is && whole {
			reach = strings.Fields(line)
			return nil
		}
		return fmt.Errorf("it does not say how:\n%s", s.Output())
	})
	saved := filepath.Join(t.TempDir(), "snapshot.db")
	for _, c := range []struct{ args, want string }{
		{"endpoint health", "is healthy"},
		{"endpoint status -w json", `"dbSize":`},
		{"member list", "started, triplane,"},
		{"get /registry/namespaces/ --prefix --keys-only", "/registry/namespaces/kube-system"},
		{"put /elsewhere x", "OK"},
		{"txn --interactive=false", ""},
		{"lease grant 60", "granted with TTL(60s)"},
		{"compact 1", "compacted revision 1"},
		{"defrag", "Finished defragmenting"},
		{"alarm list", ""},
		{"snapshot save " + saved, "Snapshot saved at"},
	} {
		cmd := exec.CommandContext(t.Context(), etcdctl, append(reach, strings.Fields(c.args)...)...)
		cmd.Stdin = strings.NewReader("\n\n\n")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("etcdctl %s: %v, want %q:\n%s", c.args, err, c.want, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, "snapshot", "status", saved).
		CombinedOutput(); err != nil {
		t.Errorf("its snapshot: %v\n%s", err, out)
	}
}

// TestEtcdClientSocket opens the API on a socket, over one that a killed process left.
func TestEtcdClientSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	s := harness.Start(t, "--embedded-etcd-listen=unix://"+socket)
	s.Kill()
	s.Restart(t)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	shareStore(t, s, etcdClient(t, "unix://"+socket, nil))
}

func etcdClient(t *testing.T, endpoint string, config *tls.Config) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: config,
		DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func useIsRefused(t *testing.T, address string, config *tls.Config, who string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "tls: ") {
		t.Errorf("%s is let in: %v", who, err)
	}
}

// shareStore writes what the other reads, in both directions.
func shareStore(t *testing.T, s *harness.Server, etcd *clientv3.Client) {
	t.Helper()
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	const prefix = "/registry/configmaps/default/"
	watch := etcd.Watch(t.Context(), prefix, clientv3.WithPrefix())
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ours"},
		Data: map[string]string{"a": "b"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := etcd.Get(t.Context(), prefix+"ours")
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("etcd has %v, %v", got, err)
	}
	select {
	case event := <-watch:
		if len(event.Events) != 1 || string(event.Events[0].Kv.Key) != prefix+"ours" {
			t.Errorf("etcd's watch has %v", event)
		}
	case <-time.After(30 * time.Second):
		t.Error("etcd's watch reports nothing")
	}
	for range 20 {
		if _, err := etcd.Delete(t.Context(), prefix+"ours"); err != nil {
			t.Fatal(err)
		}
		if list, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Fatalf("a list has what etcd has not: %v", err)
		}
		if _, err := maps.Get(t.Context(), "ours", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("a get has what etcd has not: %v", err)
		}
		if _, err := etcd.Put(t.Context(), prefix+"ours", string(got.Kvs[0].Value)); err != nil {
			t.Fatal(err)
		}
		if c, err := maps.Get(t.Context(), "ours", metav1.GetOptions{}); err != nil || c.Data["a"] != "b" {
			t.Fatalf("what etcd was given: %v, %v", c, err)
		}
	}
}
