package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Built is the environment variable that says that all programs are built.
const Built = "E2E_PROGRAMS"

// Program is a program that tests run.
type Program struct {
	// Name of its file.
	Name string
	// dir is the folder of its module, from e2e.
	dir, pkg string
	kind     kind
}

// kind is how a package becomes a program.
type kind int

const (
	_ kind = iota // a command
	// example is an example of controller-runtime, with other ports.
	example
)

// The programs of this module.
var (
	Triplane           = Program{Name: "triplane", dir: "..", pkg: "./cmd/triplane"}
	OwnSampleAPIServer = Program{Name: "triplane-sample-apiserver", dir: "..", pkg: "./cmd/sample-apiserver"}
	// Forgetful has the kernel ask about syncs.
	Forgetful = Program{Name: "forgetful", dir: "..", pkg: "./e2e/harness/forgetful"}
)

// The programs of others.
var (
	Kubectl         = Program{Name: "kubectl", dir: "tools", pkg: "./kubectl"}
	Etcd            = Program{Name: "etcd", dir: "tools", pkg: "go.etcd.io/etcd/server/v3"}
	Etcdctl         = Program{Name: "etcdctl", dir: "tools", pkg: "go.etcd.io/etcd/etcdctl/v3"}
	SampleAPIServer = Program{Name: "sample-apiserver", dir: "tools", pkg: "k8s.io/sample-apiserver"}
	Helm            = Program{Name: "helm", dir: "tools", pkg: "helm.sh/helm/v4/cmd/helm"}
	// ExampleBuiltins and ExampleCRD are managers of controller-runtime.
	ExampleBuiltins = Program{Name: "builtins", dir: "tools", pkg: "sigs.k8s.io/controller-runtime/examples/builtins",
		kind: example}
	ExampleCRD = Program{Name: "crd", dir: "tools", pkg: "sigs.k8s.io/controller-runtime/examples/crd", kind: example}
	H2spec     = Program{Name: "h2spec", dir: "tools", pkg: "github.com/summerwind/h2spec/cmd/h2spec"}
	Promql     = Program{Name: "promql", dir: "tools/promql", pkg: "."}
	Kine       = Program{Name: "kine", dir: "tools/kine", pkg: "."}
)

// All returns the programs of the tests of make test, those first that share the most with what is built already.
func All() []Program {
	return []Program{Triplane, OwnSampleAPIServer, Forgetful, Etcd, Etcdctl, Kubectl, ExampleBuiltins, ExampleCRD,
		H2spec}
}

// link has no symbols for debuggers, which take most of the linker's time, and has kubectl's version:
// without one, it refuses to compare itself with a server.
const link = "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 -X k8s.io/client-go/pkg/version.gitVersion=v1.37.2"

// building has a mutex for each file that is, or was, built in this process.
var building sync.Map

// Path returns the path of the built program. It builds the program unless $E2E_PROGRAMS says
// that it is built; the build cache makes that quick when nothing has changed.
func (p Program) Path() (string, error) {
	e2e, err := folder()
	if err != nil {
		return "", err
	}
	out := filepath.Join(e2e, ".bin", p.Name)
	if os.Getenv(Built) == "" {
		mu, _ := building.LoadOrStore(p.Name, &sync.Mutex{})
		mu.(*sync.Mutex).Lock()
		defer mu.(*sync.Mutex).Unlock()
		if err := p.build(e2e, out); err != nil {
			return "", err
		}
	}
	// go test runs a test again when a file of the module that it has looked at has changed.
	if _, err := os.Stat(out); err != nil {
		return "", fmt.Errorf("%s is set, but there is no %s: run make programs: %w", Built, p.Name, err)
	}
	return out, nil
}

// build builds the program into a file.
func (p Program) build(e2e, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	dir, pkg := filepath.Join(e2e, p.dir), p.pkg
	args := []string{"build", "-ldflags", link, "-o", out}
	if p.kind == example {
		scratch, err := os.MkdirTemp("", "example")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(scratch) }() // of no use any more
		overlay, err := exampleOverlay(dir, pkg, scratch)
		if err != nil {
			return err
		}
		pkg, args = "./examples/"+p.Name, append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", p.pkg, err, text)
	}
	return nil
}

// ports is a file beside those of an example, whose ports are fixed: here it serves no metrics, and
// its webhooks at a port of the kernel's choice.
const ports = `package main

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func init() { server.DefaultBindAddress, webhook.DefaultPort = "0", 0 }
`

// exampleOverlay writes a go build overlay that has an example of a module, and the file ports, in
// the folder examples of another one.
func exampleOverlay(module, pkg, scratch string) (string, error) {
	list := exec.Command("go", "list", "-f", `{{.Dir}}{{range .GoFiles}} {{.}}{{end}}`, pkg)
	list.Dir = module
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", pkg, err)
	}
	found := strings.Fields(string(out))
	in := filepath.Join(module, "examples", filepath.Base(pkg)) // which exists for the compiler alone
	replace := map[string]string{filepath.Join(in, "ports.go"): filepath.Join(scratch, "ports.go")}
	for _, file := range found[1:] {
		replace[filepath.Join(in, file)] = filepath.Join(found[0], file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(scratch, "overlay.json")
	return name, errors.Join(os.WriteFile(name, overlay, 0o600),
		os.WriteFile(filepath.Join(scratch, "ports.go"), []byte(ports), 0o600))
}

// folder returns the folder e2e of the module in which the process was started, as go test starts
// tests. It is not that of the source: a test that is built with -trimpath has no paths.
func folder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "e2e", "tools", "go.mod"))
		if err == nil {
			return filepath.Join(dir, "e2e"), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder e2e above the working directory: %w", err)
		}
	}
}

// Named returns the programs of some names, All for none.
func Named(names []string) ([]Program, error) {
	if len(names) == 0 {
		return All(), nil
	}
	all := append(All(), Helm, Kine, Promql, SampleAPIServer)
	var found []Program
	for _, n := range names {
		i := slices.IndexFunc(all, func(p Program) bool { return p.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no program %q", n)
		}
		found = append(found, all[i])
	}
	return found, nil
}
