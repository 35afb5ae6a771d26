package imports

import (
	"go/ast"
	"slices"
	"testing"
)

// writers may write files directly: package durable, an appended log, an empty lock file, a file
// that is opened to sync it, and files that are used only during tests.
var writers = []string{"internal/durable/durable.go", "generic/guard/audit/backend/rotate.go", "generic/run/host/datadir.go",
	"generic/storage/postgres/postgrestest/server.go", "internal/platform/platform_windows.go",
	"kubeapi/kindtest/story.go", "testserver/server.go"}

// All other files are written by package durable.
func TestFilesAreWrittenDurably(t *testing.T) {
	eachServedFile(t, func(rel string) {
		if slices.Contains(writers, rel) {
			return
		}
		for _, found := range fileWrites(t, rel) {
			t.Errorf("%s: use package durable", found)
		}
	})
}

// fileWrites returns the calls in a file that create or rename files.
func fileWrites(t *testing.T, rel string) (found []string) {
	t.Helper()
	f, files := parse(t, rel)
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, _ := s.X.(*ast.Ident)
			if x != nil && x.Name == "os" && slices.Contains([]string{"WriteFile", "Create", "CreateTemp", "OpenFile", "Rename"}, s.Sel.Name) {
				found = append(found, files.Position(s.Pos()).String()+": os."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}

func TestFileWritesAreFound(t *testing.T) {
	if found := fileWrites(t, "internal/durable/durable.go"); len(found) != 3 {
		t.Errorf("found %q", found)
	}
}
