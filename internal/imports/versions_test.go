package imports

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ahead are the modules whose programs need newer versions of libraries than the server.
var ahead = map[string][]string{
	"e2e/tools/kine/go.mod": {"github.com/prometheus/client_golang", "github.com/prometheus/common",
		"github.com/prometheus/procfs", "github.com/sirupsen/logrus"},
}

// A library in another version is compiled again, with all packages that import it.
func TestToolsHaveTheServersVersions(t *testing.T) {
	server := requirements(t, "go.mod")
	for _, file := range []string{"e2e/tools/go.mod", "e2e/tools/kine/go.mod", "e2e/tools/promql/go.mod"} {
		for module, version := range requirements(t, file) {
			if has := server[module]; has != "" && has != version && !slices.Contains(ahead[file], module) {
				t.Errorf("%s requires %s %s, the server %s", file, module, version, has)
			}
		}
	}
}

// go install of a program at a version fails if its module excludes or replaces others.
func TestProgramsCanBeInstalled(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if directive, _, _ := strings.Cut(strings.TrimSpace(line), " "); directive == "exclude" || directive == "replace" {
			t.Errorf("go.mod has %s", line)
		}
	}
}

// requirements returns the versions of the modules that a go.mod requires.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			found[fields[0]] = fields[1]
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s requires nothing", file)
	}
	return found
}
