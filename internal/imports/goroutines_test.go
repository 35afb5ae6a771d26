package imports

import (
	"go/ast"
	"path"
	"slices"
	"testing"
)

// starters may start goroutines directly: package worker, and code of tests.
var starters = []string{"internal/worker", "generic/base/egress/egresstest",
	"generic/guard/authentication/serviceaccount/external/externaltest", "generic/storage/encryption/kmstest"}

// A panic in a goroutine terminates the process unless it recovers. All goroutines are therefore started by
// package worker.
func TestGoroutinesAreStartedByWorker(t *testing.T) {
	eachServedFile(t, func(rel string) {
		if slices.Contains(starters, path.Dir(rel)) {
			return
		}
		for _, found := range bareGoroutines(t, rel) {
			t.Error(found)
		}
	})
}

// bareGoroutines returns the goroutines that a file starts without package worker. It rejects any sync.WaitGroup,
// because calls of its Go cannot be detected without types.
func bareGoroutines(t *testing.T, rel string) (found []string) {
	t.Helper()
	f, files := parse(t, rel)
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
	if found := bareGoroutines(t, "internal/imports/testdata/bare.go"); len(found) != 3 {
		t.Errorf("found %q", found)
	}
}
