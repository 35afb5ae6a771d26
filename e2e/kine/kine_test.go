// kine with SQLite instead of etcd, under two replicas.

package kine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
	"triplane.dev/e2e/programs"
)

// kine is etcd's API on a SQLite file, which drops old revisions soon.
type kine struct {
	*harness.Process
	program string
	args    []string
	url     string
}

func startKine(t *testing.T) *kine {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	k := &kine{url: "http://" + address, program: harness.Tool(t, programs.Kine), args: []string{
		"--listen-address", address, "--compact-interval", "300ms", "--compact-min-retain", "10",
		"--endpoint", "sqlite://" + filepath.Join(t.TempDir(), "state.db") + "?_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate",
	}}
	k.restart(t)
	return k
}

func (k *kine) restart(t *testing.T) { k.Process = harness.StartProgram(t, k.program, k.args...) }

// TestKine keeps objects in SQLite rather than in etcd, of which kine has what API servers use:
// two replicas serve from it, while it is killed, and while it drops revisions.
func TestKine(t *testing.T) {
	store := startKine(t)
	args := []string{"--etcd-servers", store.url, "--etcd-compaction-interval=500ms", "--event-ttl=2s"}
	s, client := harness.StartControlled(t, args...)
	other := kubernetes.NewForConfigOrDie(harness.Start(t, args...).Config)

	harness.ServeWidgets(t, s)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	s.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	oracle.ReadsAreConsistent(t, client, other)
	oracle.PagesAreWhole(t, other)
	oracle.EventsExpire(t, client)
	if strings.Contains(s.Output(), "Failed to compact etcd") { // as it may when kine is away
		t.Error("it cannot compact")
	}
	informerSeesAll(t, store, client, other)
	oracle.OldRevisionsAreGone(t, client)

	s.Kubectl(t, "delete", "namespace", "shop", "--timeout=40s")
}

// informerSeesAll compares what an informer was told through one replica with what was written
// through the other, while the store is killed and comes back.
func informerSeesAll(t *testing.T, store *kine, writing, reading kubernetes.Interface) {
	t.Helper()
	f := oracle.Follow(t, writing, reading)
	f.More(t, 30)
	store.Kill()
	store.restart(t)
	f.More(t, 30)
	f.End(t)
}
