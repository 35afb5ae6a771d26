package assets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"triplane.dev/internal/durable"
)

const (
	apiServer = "kube-apiserver"
	etcd      = "etcd"
	kubectl   = "kubectl"

	// flagsSuffix is the suffix of the file with the default flags of a program.
	flagsSuffix = ".flags"
	// maxFlags bounds the size of that file in bytes.
	maxFlags = 64 << 10
)

// PodCollector is the controller that does not run in tests by default: it deletes pods of nodes without Node
// objects, to which tests bind pods.
const PodCollector = "pod-garbage-collector-controller"

// Tests that were written for kube-apiserver in envtest do not expect the effects of these controllers: service
// accounts and config maps in lists, and the deletion of dependents and of objects with the finalizer
// foregroundDeletion, which tests remove.
const (
	accounts         = "serviceaccount-controller"
	caPublisher      = "root-ca-certificate-publisher-controller"
	garbageCollector = "garbage-collector-controller"
)

// simulateFlag simulates workloads.
const simulateFlag = "--simulate-workloads"

// defaultFlags returns flags that run the controllers. Tests that finalize namespaces themselves, because nothing does
// in envtest, have the time of the grace period for that. Simulated workloads need the garbage collector.
func defaultFlags(simulate bool) []string {
	controllers := "--controllers=*,-" + PodCollector + ",-" + accounts + ",-" + caPublisher
	if !simulate {
		controllers += ",-" + garbageCollector
	}
	return []string{controllers, "--namespace-deletion-grace-period=500ms"}
}

// Write creates dir and the three programs in it, replacing existing ones. The directory contains one copy of the
// running program, as kube-apiserver, so that it can be moved and cached. etcd is a relative link to it. kubectl
// is a link to the one in PATH, if there is one, because few tests need it. flags are default flags of the server, in
// addition to defaultFlags. Write prints a summary to out.
func Write(dir string, flags []string, out io.Writer) error {
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
	simulate := slices.ContainsFunc(flags, func(flag string) bool {
		return flag == simulateFlag || flag == simulateFlag+"=true"
	})
	flags = withDefaults(defaultFlags(simulate), flags)
	if err := durable.WriteFile(filepath.Join(dir, apiServer+flagsSuffix), []byte(strings.Join(flags, "\n")+"\n"),
		0o644); err != nil {
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
		"%s\n  kube-apiserver  this program, with the flags in kube-apiserver.flags: %s\n"+
			"  etcd            this program\n  kubectl         %s\n\nUse it:\n  export KUBEBUILDER_ASSETS=%s\n",
		dir, strings.Join(flags, " "), kubectlNote, dir)
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

// Arguments returns the arguments of this program with the default flags of its file, if it has one: the flags of
// arguments take precedence.
func Arguments(arguments []string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return arguments, nil //nolint:nilerr // without a path there is no file beside the program
	}
	return argumentsOf(self, arguments)
}

func argumentsOf(program string, arguments []string) ([]string, error) {
	if filepath.Base(program) != apiServer {
		return arguments, nil
	}
	f, err := os.Open(program + flagsSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return arguments, nil
	}
	if err != nil {
		return nil, fmt.Errorf("default flags: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	content, err := io.ReadAll(io.LimitReader(f, maxFlags))
	if err != nil {
		return nil, fmt.Errorf("default flags: %w", err)
	}
	var flags []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			flags = append(flags, line)
		}
	}
	return withDefaults(flags, arguments), nil
}

// withDefaults returns flags with those of defaults that they do not set.
func withDefaults(defaults, flags []string) []string {
	unset := slices.DeleteFunc(slices.Clone(defaults), func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return slices.ContainsFunc(flags, func(given string) bool {
			given, _, _ = strings.Cut(given, "=")
			return given == name
		})
	})
	return append(unset, flags...)
}
