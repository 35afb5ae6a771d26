package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// pkg is a package as go list describes it, and as it is checked.
type pkg struct {
	ImportPath, Dir, ForTest string
	GoFiles                  []string
	Imports                  []string
	ImportMap                map[string]string
	Module                   *struct {
		Path, GoVersion string
		Main            bool
	}
	Error *struct{ Err string }

	fset   *token.FileSet
	syntax []*ast.File
	types  *types.Package
	info   *types.Info
	errs   []error
	// reported says that findings of the package are shown: those of its variant with tests are, if
	// it has one.
	reported bool
	once     sync.Once
}

// bodies are the packages outside of the module whose functions are read: which of them do not
// return is known by that.
var bodies = map[string]bool{"testing": true, "log": true, "os": true}

// own reports whether the package is one of the module.
func (p *pkg) own() bool { return p.Module != nil && p.Module.Main }

// load returns the packages of the module that match patterns, with their tests, and all that they
// import, each after what it imports.
func load(patterns []string) ([]*pkg, error) {
	args := []string{"list", "-deps", "-test", "-json=ImportPath,Dir,ForTest,GoFiles,Imports,ImportMap,Module,Error"}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	fset := token.NewFileSet()
	var all []*pkg
	byPath := map[string]*pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{fset: fset}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if strings.HasSuffix(p.ImportPath, ".test") {
			continue // the main package that go test writes
		}
		all = append(all, p)
		byPath[p.ImportPath] = p
	}
	for _, p := range all {
		path, _, _ := strings.Cut(p.ImportPath, " ")
		_, tested := byPath[path+" ["+path+".test]"]
		p.reported = p.own() && (p.ForTest == "" && !tested ||
			p.ForTest != "" && (path == p.ForTest || path == p.ForTest+"_test"))
	}
	return all, checkTypes(all, byPath)
}

// checkTypes parses and type-checks packages, several at once.
func checkTypes(all []*pkg, byPath map[string]*pkg) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, p := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.parse()
		})
	}
	wg.Wait()
	var errs []error
	for _, p := range all { // sorted by what they import
		p.check(byPath)
		if p.own() {
			errs = append(errs, p.errs...)
		}
	}
	return errors.Join(errs...)
}

func (p *pkg) parse() {
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.errs = append(p.errs, err)
		}
		if f != nil {
			p.syntax = append(p.syntax, f)
		}
	}
}

// check type-checks the package. Without the bodies of functions some imports of it are of no
// use, so errors of packages outside of the module are not counted.
func (p *pkg) check(byPath map[string]*pkg) {
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	config := types.Config{
		IgnoreFuncBodies: !p.own() && !bodies[p.ImportPath],
		FakeImportC:      true,
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error:            func(err error) { p.errs = append(p.errs, err) },
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if imported := byPath[path]; imported != nil && imported.types != nil {
				return imported.types, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
	}
	if p.own() {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	p.types, _ = config.Check(path, p.fset, p.syntax, p.info) // the error is the first of errs
}

// importer is a function that is a types.Importer.
type importer func(string) (*types.Package, error)

// Import returns the package of a path.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
