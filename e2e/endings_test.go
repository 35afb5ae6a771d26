package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
	"triplane/e2e/oracle"
)

// endsWith waits until a server has ended that cannot go on: with exit code 1, one line that says why,
// and no stack.
func endsWith(t *testing.T, p *harness.Process, want string) {
	t.Helper()
	_ = p.Wait(t, 30*time.Second) // its exit code says more
	if p.ExitCode() != 1 {
		t.Errorf("exit code %d", p.ExitCode())
	}
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "triplane: ") || !strings.Contains(last, want) {
		t.Errorf("the last line is %q, want %q", last, want)
	}
	if strings.Contains(p.Output(), "goroutine ") || strings.Contains(p.Output(), "panic:") {
		t.Error("it printed a stack")
	}
}

// TestDiskFails has all syncs fail from some time on.
func TestDiskFails(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EIO} {
		disk := harness.NewDisk(t)
		s := harness.StartOn(t, disk)
		writes := oracle.NewWrites("default")
		writes.During(t, s.Config, 50, func() {
			disk.Break(errno)
			endsWith(t, s.Process, "the embedded etcd failed: ")
		})
		if out := s.Output(); !strings.Contains(out[strings.LastIndex(out, "triplane: "):], errno.Error()) {
			t.Errorf("it does not say %v", errno)
		}
		disk.Break(0)
		disk.FailPower(t, s.DataDir)
		s.Restart(t)
		writes.Check(t, s.Config)
	}
}

// TestDiskIsFull fills the disk, twice: the server refuses writes and goes on where it can see that there
// is no room, and ends where it finds out by a write that fails. Nothing acknowledged is lost.
func TestDiskIsFull(t *testing.T) {
	disk := harness.NewDisk(t)
	s := harness.StartOn(t, disk)
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	create := func(name string) error {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	disk.Leave(harness.Scarce)
	var status apierrors.APIStatus
	if err := create("full"); !errors.As(err, &status) || status.Status().Code != http.StatusInsufficientStorage {
		t.Errorf("a write to a full disk: %v", err)
	}
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := maps.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	disk.Leave(harness.Plenty)
	if err := create("after"); err != nil {
		t.Errorf("a write when there is room again: %v", err)
	}
	writes := oracle.NewWrites("default")
	writes.During(t, s.Config, 50, func() {
		disk.Leave(harness.None)
		endsWith(t, s.Process, "the embedded etcd failed: ")
	})
	expect(t, s.Output()[strings.LastIndex(s.Output(), "triplane: "):], "no space left on device")
	disk.Leave(harness.Plenty)
	s.Restart(t)
	writes.Check(t, s.Config)
	if _, err := maps.Get(t.Context(), "after", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestDatabaseIsDamaged overwrites pages of the database file.
func TestDatabaseIsDamaged(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "testdata/walkthrough.yaml")
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.DataDir, "etcd", "member", "snap", "db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for name, damage := range map[string]func(b []byte) []byte{
		"the first pages are":   func(b []byte) []byte { clear(b[:2*page]); return b },
		"all but the first are": func(b []byte) []byte { clear(b[2*page:]); return b },
		"it is not a database":  func(b []byte) []byte { return []byte(strings.Repeat("none\n", len(b)/5)) },
		"the rest is noise":     func(b []byte) []byte { copy(b[4*page:], strings.Repeat("noise", len(b))); return b },
		"it was cut":            func(b []byte) []byte { return b[:3*page] },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, damage(append([]byte(nil), good...)), 0o600); err != nil {
				t.Fatal(err)
			}
			p := harness.StartProgram(t, s.Programs.Triplane, "--data-dir", s.DataDir, "--secure-port=0", "--bind-address=127.0.0.1")
			endsWith(t, p, filepath.Join(s.DataDir, "etcd"))
		})
	}
}

// TestDataDirIsEtcds starts a server on a directory that an etcd process uses.
func TestDataDirIsEtcds(t *testing.T) {
	programs, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	client, _ := harness.StartEtcdIn(t, filepath.Join(dir, "etcd"))
	eventually(t, func() error {
		resp, err := http.Get(client + "/health")
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	began := time.Now()
	p := harness.StartProgram(t, programs.Triplane, "--data-dir", dir, "--secure-port=0", "--bind-address=127.0.0.1")
	endsWith(t, p, "is in use by another process")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestTerminatesWhileEtcdIsAway stops a server whose etcd was killed, or does not answer.
func TestTerminatesWhileEtcdIsAway(t *testing.T) {
	for name, leave := range map[string]func(*harness.Process){
		"killed": (*harness.Process).Kill,
		"stalls": func(p *harness.Process) { p.Pause(t) },
	} {
		t.Run(name, func(t *testing.T) {
			client, etcd := harness.StartEtcdIn(t, t.TempDir())
			s := harness.Start(t, "--etcd-servers", client)
			leave(etcd)
			if err := s.Terminate(t); err != nil {
				t.Errorf("%v\n%s", err, s.Output())
			}
			if strings.Contains(s.Output(), "goroutine ") {
				t.Error("it printed a stack")
			}
		})
	}
}
