package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the room of the files at the module's root.
const module = "triplane.dev"

// allowed are the rooms that a room may import in addition to itself.
var allowed = map[string][]string{
	module:          {"generic", "internal", "kubeapi", "apiextensions", "aggregator", "console", "workspaces"},
	"generic":       {"internal"},
	"kubeapi":       {"generic", "internal"},
	"apiextensions": {"generic", "internal"},
	"aggregator":    {"generic", "internal"},
	"workspaces":    {"generic", "internal"},
	"cmd":           {module, "generic", "internal", "kubeapi", "apiserver", "console", "workspaces"},
	"apiserver":     {"generic", "internal"},
	"console":       {"generic", "internal"},
	"internal":      {},
	"e2e":           {module, "generic", "internal", "cmd", "console", "testserver", "workspaces"},
	"hack":          {"generic"},
	"deploy":        {},
	"testserver":    {module, "internal", "workspaces"},
}

// shared are the folders of kubeapi that its other folders may import. API groups are not among them: they read
// each other's objects through group.Stores.
var shared = []string{
	"bootstrap", "check", "defaults", "event", "fieldgates", "group", "kindtest", "kubelet", "nodeauthorizer", "podspec", "quota", "show", "specdiff", "strategy", "workload",
}

// refused are forbidden import paths, with everything below. Those of excepted are types and clients.
var (
	refused = []string{
		"k8s.io/apiserver", "k8s.io/kubernetes",
		"k8s.io/apiextensions-apiserver/pkg", "k8s.io/kube-aggregator/pkg",
	}
	// onlyInTests are libraries of users' programs, which the server does not use.
	onlyInTests = []string{"sigs.k8s.io/controller-runtime"}
	excepted    = []string{
		"k8s.io/apiextensions-apiserver/pkg/apis", "k8s.io/apiextensions-apiserver/pkg/client",
		"k8s.io/kube-aggregator/pkg/apis", "k8s.io/kube-aggregator/pkg/client",
	}
)

func TestRoomsImportInOneDirection(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		files++
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		checkFile(t, path, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files were looked at", files)
	}
}

func checkFile(t *testing.T, path, rel string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		if why := wrong(rel, imported); why != "" {
			t.Errorf("%s imports %s: %s", rel, imported, why)
		}
	}
}

// wrong returns why a file's import is forbidden, "" if it is allowed.
func wrong(file, imported string) string {
	room := roomOf(file)
	if below(imported, refused) && !below(imported, excepted) && room != "e2e" {
		return "the server parts of Kubernetes are not used here"
	}
	if below(imported, onlyInTests) && room != "e2e" && !strings.HasSuffix(file, "_test.go") {
		return "only tests may use it"
	}
	if imported != module && !strings.HasPrefix(imported, module+"/") {
		return ""
	}
	rooms, known := allowed[room]
	if !known {
		return "this folder has no place in the house yet: say in this test what it may import"
	}
	inner := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	to := roomOf(inner + "/")
	if to == room {
		return wrongInside(file, inner)
	}
	// Tests of the module's package are also its users.
	if slices.Contains(rooms, to) || room == module && strings.HasSuffix(file, "_test.go") {
		return ""
	}
	return room + " may not import " + to
}

// roomOf returns the first folder of a path from the module's root, or module for files in the root.
func roomOf(path string) string {
	room, _, nested := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !nested || room == "" {
		return module
	}
	return room
}

// wrongInside returns why an import within a room is forbidden, "" if it is allowed.
func wrongInside(file, inner string) string {
	from, to := strings.Split(file, "/"), strings.Split(inner, "/")
	if from[0] != "kubeapi" || len(from) < 3 || len(to) < 2 || from[1] == to[1] || slices.Contains(shared, to[1]) {
		return ""
	}
	return "the folders of kubeapi share " + strings.Join(shared, ", ") + " alone"
}

func below(path string, roots []string) bool {
	for _, r := range roots {
		if path == r || strings.HasPrefix(path, r+"/") {
			return true
		}
	}
	return false
}

func TestWrong(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		ok             bool
	}{
		{"chain.go", "triplane.dev/kubeapi", true},
		{"kubeapi/server.go", "triplane.dev/generic/serve/server", true},
		{"kubeapi/server.go", "triplane.dev/kubeapi/core", true},
		{"kubeapi/core/pod/pod.go", "triplane.dev/kubeapi/core/proxy", true},
		{"kubeapi/apps/deployment.go", "triplane.dev/kubeapi/podspec", true},
		{"kubeapi/events/group.go", "triplane.dev/kubeapi/core", false},
		{"kubeapi/podspec/qos.go", "triplane.dev/kubeapi/core/pod", false},
		{"kubeapi/server.go", "triplane.dev/aggregator", false},
		{"aggregator/server.go", "triplane.dev/apiextensions/schema", false},
		{"generic/serve/server/server.go", "triplane.dev/kubeapi", false},
		{"generic/serve/server/server.go", "triplane.dev", false},
		{"generic/serve/server/server.go", "k8s.io/apimachinery/pkg/runtime", true},
		{"generic/serve/server/server.go", "k8s.io/apiserver/pkg/server", false},
		{"generic/serve/server/server.go", "k8s.io/apiserverless", true},
		{"apiextensions/a.go", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", true},
		{"apiextensions/a.go", "k8s.io/apiextensions-apiserver/pkg/apiserver/schema", false},
		{"aggregator/a.go", "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset", true},
		{"aggregator/a.go", "k8s.io/kube-aggregator/pkg/apiserver", false},
		{"e2e/flunder/main.go", "k8s.io/apiserver/pkg/server", true},
		{"testserver/server.go", "triplane", true},
		{"testserver/server.go", "sigs.k8s.io/controller-runtime", false},
		{"e2e/tools/tools.go", "sigs.k8s.io/controller-runtime/examples/crd", true},
		{"testserver/example_test.go", "sigs.k8s.io/controller-runtime/pkg/client", true},
		{"options.go", "triplane.dev/generic/serve/server", true},
		{"options.go", "triplane.dev/cmd/triplane", false},
		{"options.go", "triplane.dev/apiserver", false},
		{"kubeapi/server.go", "triplane.dev", false},
		{"generic/serve/server/server.go", "triplane.dev", false},
		{"elsewhere/a.go", "triplane.dev/generic/serve/server", false},
	} {
		if got := wrong(c.file, c.imported); (got == "") != c.ok {
			t.Errorf("%s imports %s: %q", c.file, c.imported, got)
		}
	}
}

// Every package of the server has a doc.go with its idea and contract.
func TestPackagesAreDocumented(t *testing.T) {
	for _, room := range []string{"generic", "kubeapi", "apiextensions", "aggregator", "cmd", "testserver", "apiserver", "workspaces"} {
		folders := map[string]bool{} // with Go files that are no tests
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				folders[filepath.Dir(path)] = true
			}
			return err
		})
		if err != nil || len(folders) == 0 {
			t.Fatalf("%s: %d packages, %v", room, len(folders), err)
		}
		for folder := range folders {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, "doc.go"), nil, parser.ParseComments)
			if err != nil || f.Doc == nil {
				t.Errorf("%s has no package comment in a doc.go", strings.TrimPrefix(folder, "../../"))
			}
		}
	}
}
