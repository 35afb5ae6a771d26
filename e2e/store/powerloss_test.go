// What was acknowledged is there after power failures, with a disk that keeps only what was synced.

package store

import (
	"os"
	"path/filepath"
	"testing"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestPowerFailure cuts the server's power in the middle of writes, several times, with a disk that
// keeps nothing but what was synced. What was acknowledged is there, the keys are those that clients
// know, and the log is cut and the database written anew in between.
func TestPowerFailure(t *testing.T) {
	disk := harness.NewDisk(t)
	s := harness.StartOn(t, disk, "--embedded-etcd-snapshot-count=100", "--embedded-etcd-quota-bytes=67108864")
	kubeconfig, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	writes := oracle.NewWrites("default")
	const rounds = 4
	for range rounds {
		writes.During(t, s.Config, 200, s.Kill)
		disk.FailPower(t, s.DataDir)
		s.Restart(t)
		writes.Check(t, s.Config)
	}
	if now, err := os.ReadFile(s.Kubeconfig); err != nil || string(now) != string(kubeconfig) {
		t.Errorf("the kubeconfig is another one, or gone: %v", err)
	}
	if logs, err := filepath.Glob(filepath.Join(s.DataDir, "etcd", "member", "snap", "*.snap")); err != nil ||
		len(logs) == 0 {
		t.Errorf("the log was never cut: %v", err)
	}
	t.Logf("%d writes, %d syncs", writes.Acknowledged(), disk.Syncs())
}
