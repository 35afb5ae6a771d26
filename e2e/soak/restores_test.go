package soak

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestKilledRestores kills restores of a snapshot, each at another moment. A server does not start on what they leave,
// unless that is whole; a restore after that makes all of it.
func TestKilledRestores(t *testing.T) {
	together(t)
	s := harness.Start(t)
	writes := oracle.NewWrites("default")
	writes.During(t, s.Config, 20, func() {})
	overwrite(t.Context(), s.Config, "large", 10, 2)
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	file, store := filepath.Join(t.TempDir(), "saved.db"), filepath.Join(s.DataDir, "etcd")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, append(args, "--data-dir", s.DataDir)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("snapshot", "save", file)
	refused, whole := 0, 0
	empty := func() {
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
	}
	empty()
	began := time.Now()
	run("snapshot", "restore", file)
	takes := time.Since(began)
	n := rounds(t, 3, func(int) {
		empty()
		restore := harness.StartProgram(t, s.Programs.Triplane, "snapshot", "restore", file, "--data-dir", s.DataDir)
		time.Sleep(takes/4 + time.Duration(rand.Int64N(int64(takes))))
		restore.Kill()
		if _, err := os.Stat(filepath.Join(store, "member")); err == nil {
			whole++
		} else {
			if _, err := os.Stat(store + ".restoring"); err == nil {
				s.Begin(t)
				endedWell(t, s.Process, "restore it again")
				refused++
			}
			run("snapshot", "restore", file)
		}
		run("store", "verify", s.DataDir)
		s.Restart(t)
		writes.Check(t, s.Config)
		s.Kill()
	})
	mended(t, "after 1 of 3 kills the server started with an empty store", "it does not start on a part of a store; a second restore makes all of it",
		"%d restores were killed: %d times the server did not start before the next restore, %d times all was there", n, refused, whole)
}
