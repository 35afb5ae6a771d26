// Snapshots of a running and of a stopped server, and what is restored from them.

package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// TestSnapshots saves a running server and a stopped one, and restores it. A watch from before
// learns that it has to begin anew.
func TestSnapshots(t *testing.T) {
	s := harness.Start(t, "--snapshot-interval=300ms", "--snapshot-retention=2")
	client := kubernetes.NewForConfigOrDie(s.Config)
	maps := client.CoreV1().ConfigMaps("default")
	create := func(name string) *corev1.ConfigMap {
		t.Helper()
		c, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	snapshot := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, append([]string{"snapshot"}, args...)...).
			CombinedOutput()
		if err != nil {
			t.Fatalf("snapshot %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	create("before")
	file := filepath.Join(t.TempDir(), "running.db")
	harness.Expect(t, snapshot("save", file, "--data-dir", s.DataDir), "revision ", "hash ")
	after := create("after")
	nobody := kubernetes.NewForConfigOrDie(restclient.AnonymousClientConfig(s.Config))
	if err := nobody.RESTClient().Get().AbsPath("/etcd/snapshot").Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
		t.Errorf("anybody may have a snapshot: %v", err)
	}
	harness.Eventually(t, func() error {
		made, err := filepath.Glob(filepath.Join(s.DataDir, "snapshots", "snapshot-*.db"))
		if err != nil || len(made) != 2 || strings.Count(s.Output(), "Created snapshot") < 3 {
			return fmt.Errorf("there are %v, %w", made, err)
		}
		return nil
	})
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	damagesSnapshot(t, s)
	stopped := filepath.Join(t.TempDir(), "stopped.db")
	snapshot("save", stopped, "--data-dir", s.DataDir)
	harness.Expect(t, snapshot("status", stopped), "revision ")

	if err := os.Rename(filepath.Join(s.DataDir, "etcd"), filepath.Join(s.DataDir, "lost")); err != nil {
		t.Fatal(err)
	}
	snapshot("restore", file, "--data-dir", s.DataDir)
	s.Restart(t)
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what came after the snapshot is there: %v", err)
	}
	if w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: after.ResourceVersion}); err == nil {
		defer w.Stop()
		if event := <-w.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
			t.Errorf("a watch goes on from before: %v", event)
		}
	} else if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before: %v", err)
	}
	if atRevision(create("again")) <= atRevision(after) {
		t.Error("revisions come again")
	}
}

// damagesSnapshot flips bits in the last snapshot that a server made by itself: triplane store verify reports it, and
// the store as it is after that.
func damagesSnapshot(t *testing.T, s *harness.Server) {
	t.Helper()
	verify := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, "store", "verify", s.DataDir).CombinedOutput()
		return string(out), err
	}
	made, err := filepath.Glob(filepath.Join(s.DataDir, "snapshots", "snapshot-*.db"))
	if err != nil || len(made) == 0 {
		t.Fatalf("%v, %v", made, err)
	}
	last := made[len(made)-1]
	out, err := verify()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	harness.Expect(t, out, "keyspace ", last)
	good, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(last, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := verify(); err == nil || !strings.Contains(out, last+" is damaged: its checksum is wrong") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.WriteFile(last, good, 0o600); err != nil {
		t.Fatal(err)
	}
}
