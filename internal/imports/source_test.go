package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// served are the rooms of the server.
var served = []string{"aggregator", "apiextensions", "apiserver", "cmd", "console", "generic", "internal", "kubeapi", "testserver",
	"workspaces"}

// eachServedFile calls f for each file of the module's package and of the served rooms that is not a test, with
// its path from the root.
func eachServedFile(t *testing.T, f func(rel string)) {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range own {
		if !strings.HasSuffix(path, "_test.go") {
			f(filepath.Base(path))
		}
	}
	for _, room := range served {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			f(filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// parse parses a file of the project, and returns its file set.
func parse(t *testing.T, rel string) (*ast.File, *token.FileSet) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, filepath.Join(root, rel), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f, files
}
