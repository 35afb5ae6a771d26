package envtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triplane.dev/e2e/harness"
)

var (
	newest = flag.Bool("newest", false, "run the suites of a few packages")
	all    = flag.Bool("all", false, "run the suites of all packages")
)

// suite is the tests of a module that start an API server.
type suite struct {
	module string
	// few are packages of the tests with -newest.
	few, rest []string
	// nested are modules in folders of the module, which its go.mod replaces by these folders.
	nested map[string]string
	// finds has the tests find files by the paths of their source.
	finds bool
}

// The suites of modules. Of controller-runtime are left out pkg/client/apiutil, which downloads older API servers from
// GitHub, and pkg/internal/testing, which is about envtest's own processes and leaves some behind.
var suites = []suite{
	{
		module: "sigs.k8s.io/controller-runtime@v0.25.2", few: []string{"./pkg/envtest", "./pkg/client"},
		rest: []string{
			"./pkg/builder", "./pkg/cache", "./pkg/cluster", "./pkg/controller/...", "./pkg/handler",
			"./pkg/internal/controller/...", "./pkg/internal/recorder", "./pkg/manager/...", "./pkg/metrics/...",
			"./pkg/reconcile", "./pkg/source", "./pkg/webhook/...",
		},
	},
	{module: "sigs.k8s.io/jobset@v0.10.1", rest: []string{"./test/integration/..."}},
	// Three specs of its controllers race with these, at any server (docs/testing.md).
	{module: "sigs.k8s.io/lws@v0.8.0", rest: []string{"./test/integration/webhooks"}},
	{
		module: "sigs.k8s.io/cluster-api@v1.14.2", rest: []string{"./internal/util/ssa/..."},
		nested: map[string]string{"api": "sigs.k8s.io/cluster-api/api@v1.14.2"}, finds: true,
	},
}

func TestSuites(t *testing.T) {
	if !*newest && !*all {
		t.Skip("compiles the suites of controller-runtime, which -args -newest runs (make test-others)")
	}
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), built.Triplane, "envtest-assets", assets).CombinedOutput(); err != nil {
		t.Fatalf("triplane envtest-assets: %v\n%s", err, out)
	}
	for _, s := range suites {
		packages := s.few
		if *all {
			packages = append(packages, s.rest...)
		}
		if len(packages) > 0 {
			t.Run(s.module, func(t *testing.T) { s.run(t, assets, packages) })
		}
	}
}

// run runs tests of packages, with the libraries that the module's go.mod requires.
func (s suite) run(t *testing.T, assets string, packages []string) {
	source := t.TempDir()
	if err := os.CopyFS(source, os.DirFS(harness.Module(t, s.module))); err != nil {
		t.Fatal(err)
	}
	for folder, module := range s.nested {
		if err := os.CopyFS(filepath.Join(source, folder), os.DirFS(harness.Module(t, module))); err != nil {
			t.Fatal(err)
		}
	}
	// -trimpath has the build cache know the copies of other runs; one suite at a time
	// starts its servers.
	trim := fmt.Sprintf("-trimpath=%t", !s.finds)
	args := append([]string{"test", trim, "-vet=off", "-count=1", "-p=1", "-timeout=30m"}, packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets, "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test of %s: %v\n%s", s.module, err, out)
	}
	t.Logf("%s", out)
}
