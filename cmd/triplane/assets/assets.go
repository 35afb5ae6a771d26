package assets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"triplane.dev/internal/durable"
)

const (
	apiServer = "kube-apiserver"
	etcd      = "etcd"
	kubectl   = "kubectl"
)

// Write creates dir and the three programs in it, replacing existing ones. The directory contains one copy of the
// running program, as kube-apiserver, so that it can be moved and cached. etcd is a relative link to it. kubectl
// is a link to the one in PATH, if there is one, because few tests need it. Write prints a summary to out.
func Write(dir string, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := copyProgram(self, filepath.Join(dir, apiServer)); err != nil {
		return err
	}
	if err := link(apiServer, filepath.Join(dir, etcd)); err != nil {
		return err
	}
	kubectlNote := "not in PATH, left out: only tests that run kubectl need it"
	if found, err := exec.LookPath(kubectl); err == nil {
		if found, err = filepath.Abs(found); err != nil {
			return err
		}
		if target := filepath.Join(dir, kubectl); found != target {
			if err := link(found, target); err != nil {
				return err
			}
		}
		kubectlNote = found
	}
	_, err = fmt.Fprintf(out,
		"%s\n  kube-apiserver  this program\n  etcd            this program\n  kubectl         %s\n\nUse it:\n  "+
			"export KUBEBUILDER_ASSETS=%s\n",
		dir, kubectlNote, dir)
	return err
}

// copyProgram replaces target by a copy of a program atomically, so that running copies are not affected.
func copyProgram(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading only
	return durable.Write(target, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// link replaces path by a symbolic link.
func link(target, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}
