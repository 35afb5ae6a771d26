package main

import (
	"go/token"
	"slices"
	"strings"

	"github.com/golangci/misspell"
	"github.com/golangci/unconvert"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/unused"
	unparam "mvdan.cc/unparam/check"
)

// The checks of libraries that are no analyzers by themselves.
var (
	conversions = &analysis.Analyzer{Name: "unconvert", Doc: "finds conversions to the type that a value has", Run: runConversions}
	parameters  = &analysis.Analyzer{Name: "unparam", Doc: "finds parameters that are of no use",
		Requires: []*analysis.Analyzer{buildssa.Analyzer}, Run: runParameters}
	unusedCode = &analysis.Analyzer{Name: "unused", Doc: "finds declarations that are of no use",
		Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer}, Run: runUnused}
	spelling = &analysis.Analyzer{Name: "misspell", Doc: "finds words that are often misspelled", Run: runSpelling}
)

func runConversions(pass *analysis.Pass) (any, error) {
	for _, at := range unconvert.Run(pass) {
		pass.Reportf(position(pass, at), "unnecessary conversion")
	}
	return nil, nil
}

// position is that of a place in a file of the package.
func position(pass *analysis.Pass, at token.Position) token.Pos {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.FileStart); file.Name() == at.Filename && at.Line > 0 && at.Line <= file.LineCount() {
			return file.LineStart(at.Line) + token.Pos(max(at.Column-1, 0))
		}
	}
	return token.NoPos
}

func runParameters(pass *analysis.Pass) (any, error) {
	built := pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA)
	var checker unparam.Checker
	checker.Packages([]*packages.Package{{Fset: pass.Fset, Syntax: pass.Files, Types: pass.Pkg, TypesInfo: pass.TypesInfo}})
	checker.ProgramSSA(built.Pkg.Prog)
	issues, err := checker.Check()
	for _, i := range issues {
		pass.Reportf(i.Pos(), "%s", i.Message())
	}
	return nil, err
}

func runUnused(pass *analysis.Pass) (any, error) {
	found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
	for _, o := range found.Unused {
		if !slices.ContainsFunc(found.Used, func(u unused.Object) bool { return u.Position == o.Position }) {
			pass.Reportf(position(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
		}
	}
	return nil, nil
}

// correct are words of the list that are meant.
var correct = []string{"creater"} // rest.Creater is the field's name of the interface

func runSpelling(pass *analysis.Pass) (any, error) {
	words := misspell.New()
	words.RemoveRule(correct)
	words.Compile()
	for _, f := range pass.Files {
		file := pass.Fset.File(f.FileStart)
		content, err := pass.ReadFile(file.Name())
		if err != nil {
			return nil, err
		}
		_, found := words.Replace(string(content))
		for _, d := range found {
			if !strings.EqualFold(d.Original, d.Corrected) {
				pass.Reportf(file.LineStart(d.Line)+token.Pos(d.Column), "%q is misspelled: %q", d.Original, d.Corrected)
			}
		}
	}
	return nil, nil
}
