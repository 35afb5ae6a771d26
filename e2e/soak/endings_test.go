package soak

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestEndings brings servers to their ends in ways that cannot be helped, or while etcd is away.
func TestEndings(t *testing.T) {
	together(t)
	ways := map[string]func(*testing.T){
		"the disk fails":                diskFails,
		"the database is damaged":       databaseIsDamaged,
		"the directory is in use":       dataDirIsEtcds,
		"SIGTERM while etcd was killed": func(t *testing.T) { terminatesWithout(t, (*harness.Process).Kill) },
		"SIGTERM while etcd is stalled": func(t *testing.T) {
			terminatesWithout(t, func(p *harness.Process) { p.Pause(t) })
		},
	}
	t.Run("All", func(t *testing.T) {
		for name, way := range ways {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				way(t)
			})
		}
	})
	mended(t, "Go stacks, hangs, and exit codes that meant nothing",
		"one line and exit code 1, 0 after SIGTERM; never a stack",
		"%d ways: %s", len(ways), strings.Join(slices.Sorted(maps.Keys(ways)), ", "))
}

// endedWell fails the test where a server that cannot go on does not end with exit code 1 and one line
// that says why, and no stack.
func endedWell(t *testing.T, p *harness.Process, why string) {
	t.Helper()
	_ = p.Wait(t, 30*time.Second) // its exit code says more
	if p.ExitCode() != 1 {
		t.Errorf("exit code %d", p.ExitCode())
	}
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "triplane: ") || !strings.Contains(last, why) {
		t.Errorf("the last line is %q, want %q", last, why)
	}
	if strings.Contains(p.Output(), "goroutine ") || strings.Contains(p.Output(), "panic:") {
		t.Error("it printed a stack")
	}
}

// diskFails has all syncs fail from some time on.
func diskFails(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EIO} {
		disk := harness.NewDisk(t)
		s := harness.StartOn(t, disk)
		writes := oracle.NewWrites("default")
		writes.During(t, s.Config, 50, func() {
			disk.Break(errno)
			endedWell(t, s.Process, "the embedded etcd failed: ")
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

// databaseIsDamaged overwrites pages of the database file.
func databaseIsDamaged(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
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
			p := harness.StartProgram(t, s.Programs.Triplane, "--data-dir", s.DataDir, "--secure-port=0",
				"--bind-address=127.0.0.1")
			endedWell(t, p, filepath.Join(s.DataDir, "etcd"))
		})
	}
}

// dataDirIsEtcds starts a server on a directory that an etcd process uses.
func dataDirIsEtcds(t *testing.T) {
	programs, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	client, _ := harness.StartEtcdIn(t, filepath.Join(dir, "etcd"))
	eventually(t, time.Minute, func() error {
		resp, err := http.Get(client + "/health")
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	began := time.Now()
	p := harness.StartProgram(t, programs.Triplane, "--data-dir", dir, "--secure-port=0", "--bind-address=127.0.0.1")
	endedWell(t, p, "is in use by another process")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// terminatesWithout stops a server whose etcd was killed, or does not answer.
func terminatesWithout(t *testing.T, leave func(*harness.Process)) {
	client, etcd := harness.StartEtcdIn(t, t.TempDir())
	s := harness.Start(t, "--etcd-servers", client)
	leave(etcd)
	if err := s.Terminate(t); err != nil {
		t.Errorf("%v\n%s", err, s.Output())
	}
	if strings.Contains(s.Output(), "goroutine ") {
		t.Error("it printed a stack")
	}
}
