package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// starters may start goroutines by themselves: the mechanism, and what only tests
// run.
var starters = []string{"internal/worker", "generic/egress/egresstest",
	"generic/authentication/serviceaccount/external/externaltest", "generic/storage/encryption/kmstest"}

// A panic in a goroutine ends the process unless the goroutine recovers, so all are
// started by package worker, whose goroutines do.
func TestGoroutinesAreStartedByWorker(t *testing.T) {
	const root = "../.."
	for _, room := range []string{"aggregator", "apiextensions", "apiserver", "cmd", "console", "generic", "internal", "kubeapi", "testserver"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err == nil && !slices.Contains(starters, filepath.ToSlash(filepath.Dir(rel))) {
				for _, found := range bareGoroutines(t, path) {
					t.Errorf("%s: %s", rel, found)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// bareGoroutines are what a file starts without package worker. A sync.WaitGroup is
// refused whole: whether Go is called on it cannot be seen without its type.
func bareGoroutines(t *testing.T, path string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"golang.org/x/sync/errgroup"` {
			found = append(found, "errgroup does not recover, use worker.Group")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, files.Position(n.Pos()).String()+": use worker.Go")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name == "WaitGroup" {
				found = append(found, files.Position(n.Pos()).String()+": use worker.Group")
			}
		}
		return true
	})
	return found
}

func TestBareGoroutinesAreFound(t *testing.T) {
	if found := bareGoroutines(t, "testdata/bare.go"); len(found) != 3 {
		t.Errorf("found %q", found)
	}
}
