package imports

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// platformPackages may call an operating system, and have files for some platforms only.
var platformPackages = []string{"internal/platform", "internal/resident"}

// unixPackages start servers in tests, which run on Unix only.
var unixPackages = []string{"generic/storage/postgres/postgrestest"}

// everywhere are the names of package syscall that every platform has with the same meaning.
var everywhere = []string{"SIGINT", "SIGTERM"}

// All other files compile on every platform, so that checking the platform packages checks the server.
func TestFilesAreForEveryPlatform(t *testing.T) {
	eachServedFile(t, func(rel string) {
		if dir := path.Dir(rel); slices.Contains(platformPackages, dir) || slices.Contains(unixPackages, dir) {
			return
		}
		for _, found := range platformUses(t, rel) {
			t.Errorf("%s: use package internal/platform", found)
		}
	})
}

// platformUses returns what limits a file to some platforms.
func platformUses(t *testing.T, rel string) (found []string) {
	t.Helper()
	f, files := parse(t, rel)
	for _, suffix := range []string{"_linux.go", "_darwin.go", "_windows.go", "_unix.go"} {
		if strings.HasSuffix(rel, suffix) {
			found = append(found, rel+": the name ends in "+suffix)
		}
	}
	for _, i := range f.Imports {
		if strings.HasPrefix(i.Path.Value, `"golang.org/x/sys/`) {
			found = append(found, files.Position(i.Pos()).String()+": imports "+i.Path.Value)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, _ := s.X.(*ast.Ident); x != nil && x.Name == "syscall" && !slices.Contains(everywhere, s.Sel.Name) {
				found = append(found, files.Position(s.Pos()).String()+": syscall."+s.Sel.Name)
			}
		}
		return true
	})
	for _, c := range f.Comments {
		if strings.HasPrefix(c.List[0].Text, "//go:build") {
			found = append(found, files.Position(c.Pos()).String()+": "+c.List[0].Text)
		}
	}
	return found
}

func TestPlatformUsesAreFound(t *testing.T) {
	if found := platformUses(t, "internal/platform/platform_unix.go"); len(found) < 4 {
		t.Errorf("found %q", found)
	}
}

// The platform packages are type-checked for every platform; make platforms compiles the whole for all of them.
func TestPlatformPackagesCompile(t *testing.T) {
	host := build.Default
	t.Cleanup(func() { build.Default = host })
	goroot, err := exec.Command("go", "env", "GOROOT").Output() // -trimpath removes it from the test
	if err != nil {
		t.Fatal(err)
	}
	build.Default.CgoEnabled, build.Default.GOROOT = false, strings.TrimSpace(string(goroot))
	for _, target := range []string{"linux/arm64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		build.Default.GOOS, build.Default.GOARCH, _ = strings.Cut(target, "/")
		files := token.NewFileSet()
		config := types.Config{Importer: importer.ForCompiler(files, "source", nil)}
		for _, dir := range platformPackages {
			found, err := build.ImportDir(filepath.Join(root, dir), 0)
			if err != nil {
				t.Fatal(err)
			}
			var parsed []*ast.File
			for _, name := range found.GoFiles {
				f, err := parser.ParseFile(files, filepath.Join(root, dir, name), nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				parsed = append(parsed, f)
			}
			if _, err := config.Check(dir, files, parsed, nil); err != nil {
				t.Errorf("%s: %v", target, err)
			}
		}
	}
}
