package assets

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The directory is complete after the first and the second run, with a kubectl in PATH and without.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	path := t.TempDir()
	t.Setenv("PATH", path)
	for _, withKubectl := range []bool{false, true, true} {
		if withKubectl {
			if err := os.WriteFile(filepath.Join(path, "kubectl"), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := Write(dir, []string{"--simulate-workloads"}, &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out.Bytes(), []byte("KUBEBUILDER_ASSETS="+dir)) {
			t.Errorf("printed %s", out.Bytes())
		}
		server, err := os.Stat(filepath.Join(dir, "kube-apiserver"))
		if err != nil || server.Mode().Perm() != 0o755 || server.Size() == 0 {
			t.Errorf("kube-apiserver: %v, %v", server, err)
		}
		if etcd, err := os.Stat(filepath.Join(dir, "etcd")); err != nil || !os.SameFile(server, etcd) {
			t.Errorf("etcd is another program: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "kubectl")); (err == nil) != withKubectl {
			t.Errorf("kubectl: %v", err)
		}
		entries, err := os.ReadDir(dir)
		if want := map[bool]int{false: 3, true: 4}[withKubectl]; err != nil || len(entries) != want {
			t.Errorf("there are %v, %v", entries, err)
		}
	}
}

// The garbage collector runs where workloads are simulated, or the flags say so.
func TestGarbageCollectorRuns(t *testing.T) {
	for given, want := range map[string]bool{
		"--v=2": false, "--simulate-workloads=false": false, "--simulate-workloads": true, "--simulate-workloads=true": true, "--controllers=*": true,
	} {
		dir := t.TempDir()
		if err := Write(dir, []string{given}, io.Discard); err != nil {
			t.Fatal(err)
		}
		flags, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.flags"))
		if err != nil || bytes.Contains(flags, []byte(",-garbage-collector-controller")) == want {
			t.Errorf("with %s: %s, %v", given, flags, err)
		}
	}
}

func TestArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kube-apiserver")
	arguments := func(given ...string) []string {
		t.Helper()
		all, err := argumentsOf(program, given)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := arguments("--secure-port=1"); !slices.Equal(all, []string{"--secure-port=1"}) {
		t.Errorf("without a file: %q", all)
	}
	if err := os.WriteFile(program+".flags", []byte("# a comment\n--controllers=*\n\n--v=2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := arguments("--secure-port=1"); !slices.Equal(all, []string{"--controllers=*", "--v=2", "--secure-port=1"}) {
		t.Errorf("with defaults: %q", all)
	}
	if all := arguments("--controllers=none"); !slices.Equal(all, []string{"--v=2", "--controllers=none"}) {
		t.Errorf("with a flag that replaces one: %q", all)
	}
	if all, err := argumentsOf(filepath.Join(filepath.Dir(program), "triplane"), nil); err != nil || len(all) > 0 {
		t.Errorf("under another name: %q, %v", all, err)
	}
}
