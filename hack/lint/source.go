package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The checks that are a few lines.
var (
	exported         = &analysis.Analyzer{Name: "exported", Doc: "finds exported declarations without a comment", Run: runExported}
	packageComments  = &analysis.Analyzer{Name: "package-comments", Doc: "finds packages without a comment", Run: runPackageComments}
	unusedParameters = &analysis.Analyzer{Name: "unused-parameter", Doc: "finds named parameters that are not used", Run: runUnusedParameters}
	inits            = &analysis.Analyzer{Name: "inits", Doc: "finds functions init", Run: runInits}
	loopCopies       = &analysis.Analyzer{Name: "loop-copies", Doc: "finds copies of loop variables", Run: runLoopCopies}
)

func isTest(pass *analysis.Pass, f *ast.File) bool {
	return strings.HasSuffix(pass.Fset.Position(f.Package).Filename, "_test.go")
}

func runExported(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Name() == "main" {
		return nil, nil
	}
	for _, f := range pass.Files {
		if isTest(pass, f) {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d)) && !common[d.Name.Name]) {
					pass.Reportf(d.Pos(), "exported %s should have a comment", d.Name.Name)
				}
			case *ast.GenDecl:
				exportedSpecs(pass, d)
			}
		}
	}
	return nil, nil
}

// common are methods that say by their names what they do.
var common = map[string]bool{
	"Error": true, "Read": true, "ServeHTTP": true, "String": true, "Write": true, "Unwrap": true, "Len": true, "Less": true, "Swap": true,
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// exportedSpecs looks at a declaration, whose comment stands for all that is declared in it.
func exportedSpecs(pass *analysis.Pass, d *ast.GenDecl) {
	for i, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
				pass.Reportf(s.Pos(), "exported type %s should have a comment", s.Name.Name)
			}
		case *ast.ValueSpec:
			if i == 0 && s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				pass.Reportf(s.Pos(), "exported %s %s should have a comment", d.Tok, s.Names[0].Name)
			}
		}
	}
}

func runPackageComments(pass *analysis.Pass) (any, error) {
	var first *ast.File
	for _, f := range pass.Files {
		if f.Doc != nil {
			return nil, nil
		}
		if first == nil && !isTest(pass, f) {
			first = f
		}
	}
	if first != nil {
		pass.Reportf(first.Package, "package %s should have a comment", pass.Pkg.Name())
	}
	return nil, nil
}

func runUnusedParameters(pass *analysis.Pass) (any, error) {
	used := map[types.Object]bool{}
	for _, o := range pass.TypesInfo.Uses {
		used[o] = true
	}
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			var of *ast.FuncType
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					of = n.Type
				}
			case *ast.FuncLit:
				of = n.Type
			}
			if of == nil {
				return true
			}
			for _, field := range of.Params.List {
				for _, name := range field.Names {
					if o := pass.TypesInfo.Defs[name]; name.Name != "_" && o != nil && !used[o] {
						pass.Reportf(name.Pos(), "parameter %s is not used, it could be _", name.Name)
					}
				}
			}
			return true
		})
	}
	return nil, nil
}

func runInits(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				pass.Reportf(d.Pos(), "there should be no init")
			}
		}
	}
	return nil, nil
}

func runLoopCopies(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			var body *ast.BlockStmt
			switch n := n.(type) {
			case *ast.RangeStmt:
				body = n.Body
			case *ast.ForStmt:
				body = n.Body
			default:
				return true
			}
			for _, s := range body.List {
				if a, ok := s.(*ast.AssignStmt); ok && copies(pass, a, n) {
					pass.Reportf(a.Pos(), "each iteration has a loop variable of its own")
				}
			}
			return true
		})
	}
	return nil, nil
}

// copies reports whether an assignment declares a variable with the name of a loop's, and its value.
func copies(pass *analysis.Pass, a *ast.AssignStmt, loop ast.Node) bool {
	if a.Tok != token.DEFINE || len(a.Lhs) != len(a.Rhs) {
		return false
	}
	for i := range a.Lhs {
		to, _ := a.Lhs[i].(*ast.Ident)
		from, _ := a.Rhs[i].(*ast.Ident)
		if to == nil || from == nil || to.Name != from.Name {
			continue
		}
		if o := pass.TypesInfo.Uses[from]; o != nil && o.Parent() == pass.TypesInfo.Scopes[loop] {
			return true
		}
	}
	return false
}
