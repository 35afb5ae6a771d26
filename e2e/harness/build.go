package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Programs are the paths of the built programs.
type Programs struct {
	Triplane, Kubectl, Etcd string
	// SampleAPIServer is that of Kubernetes, OwnSampleAPIServer cmd/sample-apiserver.
	SampleAPIServer, OwnSampleAPIServer string
	// Forgetful has the kernel ask about syncs (Disk).
	Forgetful string
}

// kubectlVersion is linked into kubectl as its version: without one, it refuses to
// compare itself with a server.
const kubectlVersion = "-X k8s.io/component-base/version.gitVersion=v1.36.2 -X k8s.io/client-go/pkg/version.gitVersion=v1.36.2"

var built = sync.OnceValues(build)

// Build builds the programs, once a process, and returns their paths. The Go
// build cache makes it quick the second time.
func Build() (Programs, error) { return built() }

func build() (Programs, error) {
	// Not by runtime.Caller: a test built with -trimpath has no paths.
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return Programs{}, fmt.Errorf("go env GOMOD: %w", err)
	}
	e2e := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "e2e")
	bin := filepath.Join(e2e, ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Programs{}, err
	}
	p := Programs{
		Triplane: filepath.Join(bin, "triplane"), Kubectl: filepath.Join(bin, "kubectl"),
		Etcd: filepath.Join(bin, "etcd"), SampleAPIServer: filepath.Join(bin, "sample-apiserver"),
		OwnSampleAPIServer: filepath.Join(bin, "triplane-sample-apiserver"),
		Forgetful:          filepath.Join(bin, "forgetful"),
	}
	tools := filepath.Join(e2e, "tools")
	for _, b := range []struct{ dir, out, pkg string }{
		{filepath.Dir(e2e), p.Triplane, "./cmd/triplane"},
		{filepath.Dir(e2e), p.OwnSampleAPIServer, "./cmd/sample-apiserver"},
		{filepath.Dir(e2e), p.Forgetful, "./e2e/harness/forgetful"},
		{tools, p.Kubectl, "./kubectl"},
		{tools, p.Etcd, "go.etcd.io/etcd/server/v3"},
		{tools, p.SampleAPIServer, "k8s.io/sample-apiserver"},
	} {
		cmd := exec.Command("go", "build", "-ldflags", kubectlVersion, "-o", b.out, b.pkg)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("go build %s: %w\n%s", b.pkg, err, out)
		}
	}
	return p, nil
}

// Tool builds a program of the module e2e/tools, or of one that it requires, and
// returns its path. A folder of e2e/tools may be a module of its own.
func Tool(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	p, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Dir(p.Triplane)
	out := filepath.Join(bin, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-"))
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", out}, flags...), pkg)...)
	cmd.Dir = filepath.Join(filepath.Dir(bin), "tools")
	if own := filepath.Join(cmd.Dir, pkg); isModule(own) {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = own, "."
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, text)
	}
	return out
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
