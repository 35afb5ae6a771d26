package envtest

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"triplane.dev/e2e/harness"
)

var (
	newest = flag.Bool("newest", false, "run the suites of a few packages")
	all    = flag.Bool("all", false, "run the suites of all packages")
)

const module = "sigs.k8s.io/controller-runtime@v0.25.2"

// The suites that start an API server. Left out are pkg/client/apiutil, which downloads
// older ones from GitHub, and pkg/internal/testing, which is about envtest's own processes and
// leaves some behind.
var (
	few  = []string{"./pkg/envtest", "./pkg/client"}
	rest = []string{
		"./pkg/builder", "./pkg/cache", "./pkg/cluster", "./pkg/controller/...", "./pkg/handler",
		"./pkg/internal/controller/...",
		"./pkg/internal/recorder", "./pkg/manager/...", "./pkg/metrics/...", "./pkg/reconcile", "./pkg/source",
		"./pkg/webhook/...",
	}
)

func TestSuites(t *testing.T) {
	if !*newest && !*all {
		t.Skip("compiles the suites of controller-runtime, which -args -newest runs (make test-others)")
	}
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), built.Triplane, "envtest-assets", assets).
		CombinedOutput(); err != nil {
		t.Fatalf("triplane envtest-assets: %v\n%s", err, out)
	}
	runNewest(t, assets)
}

// runNewest runs suites of the newest release, with the libraries that its own go.mod requires.
func runNewest(t *testing.T, assets string) {
	source := t.TempDir()
	if err := os.CopyFS(source, os.DirFS(harness.Module(t, module))); err != nil {
		t.Fatal(err)
	}
	packages := few
	if *all {
		packages = append(packages, rest...)
	}
	// -trimpath has the build cache know the copies of other runs; one suite at a time
	// starts its servers.
	args := append([]string{"test", "-trimpath", "-vet=off", "-count=1", "-p=1", "-timeout=30m"}, packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets, "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test of %s: %v\n%s", module, err, out)
	}
	t.Logf("%s", out)
}
