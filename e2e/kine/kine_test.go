// kine with SQLite instead of etcd, under two replicas.

package kine

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	readsAreConsistent(t, client, other)
	pagesAreWhole(t, other)
	eventsExpire(t, client)
	if strings.Contains(s.Output(), "Failed to compact etcd") { // as it may when kine is away
		t.Error("it cannot compact")
	}
	informerSeesAll(t, store, client, other)
	oldRevisionsAreGone(t, client)

	s.Kubectl(t, "delete", "namespace", "shop", "--timeout=40s")
}

// readsAreConsistent writes through one replica what it reads through the other.
func readsAreConsistent(t *testing.T, one, other kubernetes.Interface) {
	t.Helper()
	for i := range 5 {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", i)}}
		made, err := one.CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := other.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: "!none"})
		if err != nil {
			t.Fatal(err)
		}
		if revision(t, list.ResourceVersion) < revision(t, made.ResourceVersion) {
			t.Errorf("a list at %s does not have the write at %s", list.ResourceVersion, made.ResourceVersion)
		}
		made.Data = map[string]string{"a": "b"}
		if _, err := other.CoreV1().ConfigMaps("default").Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := one.CoreV1().ConfigMaps("default").Update(t.Context(), made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("an update from an old object: %v", err)
		}
	}
}

// pagesAreWhole lists in pages.
func pagesAreWhole(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	harness.CreateConfigMaps(t, client, 0, 40)
	seen, opts := map[string]int{}, metav1.ListOptions{Limit: 7}
	for {
		list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			seen[c.Name]++
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	for i := range 40 {
		if n := seen[fmt.Sprintf("c%d", i)]; n != 1 {
			t.Errorf("c%d is %d times in the pages", i, n)
		}
	}
}

func eventsExpire(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
	if _, err := client.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{})
		return err
	})
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

// oldRevisionsAreGone lists at a revision that kine has dropped.
func oldRevisionsAreGone(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !apierrors.IsResourceExpired(err) {
			return fmt.Errorf("a list at an old revision: %w", err)
		}
		return nil
	})
}

func revision(t *testing.T, version string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
