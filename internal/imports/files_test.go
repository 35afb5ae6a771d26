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

// writers may write files by themselves: the mechanism, a log that is appended to, a lock that is
// empty, and what is of use while a test runs.
var writers = []string{"internal/durable/durable.go", "generic/audit/backend/rotate.go", "generic/host/datadir.go",
	"kubeapi/kindtest/story.go", "testserver/server.go"}

// What is written by package durable survives a power failure.
func TestFilesAreWrittenDurably(t *testing.T) {
	const root = "../.."
	for _, room := range []string{"aggregator", "apiextensions", "apiserver", "cmd", "generic", "internal", "kubeapi", "testserver"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err == nil && !slices.Contains(writers, filepath.ToSlash(rel)) {
				for _, found := range fileWrites(t, path) {
					t.Errorf("%s: use package durable", found)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fileWrites are the calls in a file that make or name files.
func fileWrites(t *testing.T, path string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
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
	if found := fileWrites(t, "../durable/durable.go"); len(found) != 2 {
		t.Errorf("found %q", found)
	}
}
