// Three replicas on a PostgreSQL that is killed and paused, while replicas are, too.

package postgres

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestReplicas has three servers on one database. What an informer of one reports is compared with what was written
// through the others.
func TestReplicas(t *testing.T) {
	store := harness.StartPostgres(t)
	args := []string{"--store", store.URL("postgres"), "--etcd-compaction-interval=500ms", "--event-ttl=2s"}
	s, client := harness.StartControlled(t, args...)
	others := []*harness.Server{harness.Start(t, args...), harness.Start(t, args...)}
	other := kubernetes.NewForConfigOrDie(others[0].Config)

	harness.ServeWidgets(t, s)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	s.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	oracle.ReadsAreConsistent(t, client, other)
	oracle.PagesAreWhole(t, other)
	oracle.EventsExpire(t, client)

	f := oracle.Follow(t, client, other)
	f.Also(kubernetes.NewForConfigOrDie(others[1].Config).CoreV1().ConfigMaps("default"))
	f.More(t, 30)
	store.Kill()
	time.Sleep(300 * time.Millisecond) // requests fail
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	f.More(t, 30)
	if err := store.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // requests wait
	if err := store.Resume(); err != nil {
		t.Fatal(err)
	}
	f.More(t, 30)
	others[1].Pause(t)
	f.More(t, 30)
	others[1].Resume(t)
	others[1].Kill()
	f.More(t, 30)
	others[1].Restart(t)
	f.More(t, 30)
	f.End(t)
	oracle.OldRevisionsAreGone(t, client)
	s.Kubectl(t, "delete", "namespace", "shop", "--timeout=40s")
	if strings.Contains(s.Output(), "Failed to compact PostgreSQL") && !strings.Contains(s.Output(), "unavailable") {
		t.Error("it cannot compact")
	}
}

// TestEncryption expects that an encrypted Secret is not readable in the database, and that the view of objects has
// the others.
func TestEncryption(t *testing.T) {
	store := harness.StartPostgres(t, "fsync=off")
	config := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aesgcm: {keys: [{name: one, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, client := harness.StartControlled(t, "--store", store.URL("postgres"), "--encryption-provider-config", config)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "plaintext"}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := client.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{}); err != nil ||
		string(got.Data["k"]) != "plaintext" {
		t.Errorf("got %v, %v", got.Data, err)
	}
	harness.ServeWidgets(t, s)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	s.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")

	conn, err := pgx.Connect(t.Context(), store.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var value []byte
	if err := conn.QueryRow(t.Context(), "SELECT value FROM triplane.kv WHERE key = '/registry/secrets/default/s'").
		Scan(&value); err != nil || !bytes.HasPrefix(value, []byte("k8s:enc:aesgcm:v1:one:")) {
		t.Errorf("stored as %q, %v", value, err)
	}
	for query, want := range map[string]string{
		"kind = 'Widget'":                                   "example.com/v1 shop gear json 3",
		"kind = 'Deployment'":                               "apps/v1 shop web protobuf ",
		"name = 'default' AND kind = 'Namespace'":           "v1  default protobuf ",
		"encoding = 'encrypted' AND key LIKE '%/default/s'": "   encrypted ",
	} {
		var got string
		err := conn.QueryRow(t.Context(), `SELECT concat_ws(' ', coalesce(api_version, ''), coalesce(namespace, ''),
			coalesce(name, ''), encoding, coalesce(object #>> '{spec,size}', '')) FROM triplane.objects WHERE `+query).
			Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", query, got, err, want)
		}
	}
}

// TestTransfer moves the objects of a server with an embedded etcd to one on a database.
func TestTransfer(t *testing.T) {
	store := harness.StartPostgres(t, "fsync=off")
	from := harness.Start(t)
	to := harness.Start(t, "--store", store.URL("postgres"))
	harness.ServeWidgets(t, from)
	from.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	from.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	file := filepath.Join(t.TempDir(), "objects.yaml")
	run(t, from, "export", file, "--kubeconfig", from.Kubeconfig)
	run(t, to, "import", file, "--kubeconfig", to.Kubeconfig)
	if got := to.Kubectl(t, "get", "widgets", "-n", "shop", "-o",
		"name"); strings.TrimSpace(got) != "widget.example.com/gear" {
		t.Errorf("imported %q", got)
	}
}

// TestCopy copies the store of a stopped server to a database and back, with all resource versions.
func TestCopy(t *testing.T) {
	store := harness.StartPostgres(t, "fsync=off")
	from := harness.Start(t)
	harness.ServeWidgets(t, from)
	from.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	from.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	objects := func(s *harness.Server) string {
		return s.Kubectl(t, "get", "configmaps,secrets,services,deployments,widgets", "-n", "shop", "-o",
			`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`)
	}
	want := objects(from)
	if err := from.Terminate(t); err != nil {
		t.Fatal(err)
	}
	t.Log(run(t, from, "store", "copy", from.DataDir, store.URL("postgres")))
	to := harness.Start(t, "--store", store.URL("postgres"))
	if got := objects(to); got != want {
		t.Errorf("in the database:\n%s\nwant:\n%s", got, want)
	}
	if err := to.Terminate(t); err != nil {
		t.Fatal(err)
	}
	back := harness.Prepare(t)
	t.Log(run(t, from, "store", "copy", store.URL("postgres"), back.DataDir))
	back.Restart(t)
	if got := objects(back); got != want {
		t.Errorf("back again:\n%s\nwant:\n%s", got, want)
	}
}

// run runs a command of the program.
func run(t *testing.T, s *harness.Server, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
