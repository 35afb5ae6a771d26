package assets

import (
	"bytes"
	"os"
	"path/filepath"
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
		if err := Write(dir, &out); err != nil {
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
		if want := map[bool]int{false: 2, true: 3}[withKubectl]; err != nil || len(entries) != want {
			t.Errorf("there are %v, %v", entries, err)
		}
	}
}
