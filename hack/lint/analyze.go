package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"honnef.co/go/tools/analysis/facts/deprecated"
)

// finding is what a check reports.
type finding struct {
	at          token.Position
	check, text string
	file        string
}

// String is the finding as a line.
func (f finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", f.file, f.at.Line, f.at.Column, f.text, f.check)
}

// run analyzes all packages. Facts are kept by the objects and packages that they are about, which all
// packages share.
type run struct {
	mu       sync.Mutex
	objects  map[types.Object][]analysis.Fact
	packages map[*types.Package][]analysis.Fact
	findings []finding
	checks   []check
}

// analyze runs the checks on packages, which are sorted by what they import.
func analyze(packages []*pkg, checks []check) []finding {
	r := &run{objects: map[types.Object][]analysis.Fact{}, packages: map[*types.Package][]analysis.Fact{}, checks: checks}
	byPath := map[string]chan struct{}{}
	for _, p := range packages {
		byPath[p.ImportPath] = make(chan struct{})
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, p := range packages {
		wg.Go(func() {
			defer close(byPath[p.ImportPath])
			for _, i := range p.Imports {
				if done := byPath[i]; done != nil {
					<-done
				}
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			r.analyze(p)
			if p.own() || bodies[p.ImportPath] {
				p.info = nil // it is large
			}
			p.syntax = nil
		})
	}
	wg.Wait()
	return r.findings
}

// analyze runs the checks on a package: all where it is reported, those that leave facts for others
// where it is of the module, and the cheap ones of these elsewhere.
func (r *run) analyze(p *pkg) {
	if p.types == nil {
		return
	}
	a := &packageRun{run: r, pkg: p, results: map[*analysis.Analyzer]*result{}}
	if !p.own() {
		a.result(deprecated.Analyzer)
		if bodies[p.ImportPath] {
			a.result(ctrlflow.Analyzer)
		}
		return
	}
	excepted := a.exceptions()
	for _, c := range r.checks {
		if !p.reported && !leavesFacts(c.analyzer) {
			continue
		}
		got := a.result(c.analyzer)
		if !p.reported {
			continue
		}
		if got.err != nil {
			r.report(finding{check: c.name, text: p.ImportPath + ": " + got.err.Error()})
		}
		for _, d := range got.diagnostics {
			at := p.fset.Position(d.Pos)
			f := finding{at: at, check: c.name, text: d.Message, file: relative(at.Filename)}
			if c.prefixed {
				f.text = c.analyzer.Name + ": " + f.text
			}
			if !excepted.covers(c.name, at) && !excluded(f) {
				r.report(f)
			}
		}
	}
	for _, f := range excepted.malformed {
		r.report(f)
	}
}

func (r *run) report(f finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, f)
}

// leavesFacts reports whether an analyzer, or one that it needs, has facts about what it sees.
func leavesFacts(a *analysis.Analyzer) bool {
	return len(a.FactTypes) > 0 || slices.ContainsFunc(a.Requires, leavesFacts)
}

func relative(name string) string {
	wd, err := os.Getwd()
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(wd, name); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return name
}

// packageRun is the analysis of a package.
type packageRun struct {
	*run
	pkg     *pkg
	results map[*analysis.Analyzer]*result
}

type result struct {
	value       any
	diagnostics []analysis.Diagnostic
	err         error
}

// result returns what an analyzer finds in the package, after those that it requires.
func (a *packageRun) result(analyzer *analysis.Analyzer) *result {
	if got := a.results[analyzer]; got != nil {
		return got
	}
	got := &result{}
	a.results[analyzer] = got
	inputs := map[*analysis.Analyzer]any{}
	for _, needed := range analyzer.Requires {
		input := a.result(needed)
		if input.err != nil {
			got.err = input.err
			return got
		}
		inputs[needed] = input.value
	}
	pass := a.pass(analyzer, inputs)
	pass.Report = func(d analysis.Diagnostic) { got.diagnostics = append(got.diagnostics, d) }
	defer func() {
		if v := recover(); v != nil {
			got.err = fmt.Errorf("%s: panic: %v", analyzer.Name, v)
		}
	}()
	got.value, got.err = analyzer.Run(pass)
	if want := analyzer.ResultType; got.err == nil && want != nil && reflect.TypeOf(got.value) != want {
		got.err = errors.New("no result of " + analyzer.Name)
	}
	return got
}

func (a *packageRun) pass(analyzer *analysis.Analyzer, inputs map[*analysis.Analyzer]any) *analysis.Pass {
	p := a.pkg
	pass := &analysis.Pass{
		Analyzer: analyzer, Fset: p.fset, Files: p.syntax, Pkg: p.types, TypesInfo: p.info,
		TypesSizes: types.SizesFor("gc", runtime.GOARCH), ResultOf: inputs, ReadFile: os.ReadFile, Module: &analysis.Module{},
		ImportObjectFact:  func(o types.Object, f analysis.Fact) bool { return find(a, a.objects, o, f) },
		ImportPackageFact: func(p *types.Package, f analysis.Fact) bool { return find(a, a.packages, p, f) },
		ExportObjectFact:  func(o types.Object, f analysis.Fact) { keep(a, a.objects, o, f) },
		ExportPackageFact: func(f analysis.Fact) { keep(a, a.packages, p.types, f) },
	}
	if p.Module != nil {
		pass.Module.Path, pass.Module.GoVersion = p.Module.Path, p.Module.GoVersion
	}
	wanted := func(f analysis.Fact) bool {
		return p.own() && slices.ContainsFunc(analyzer.FactTypes, func(t analysis.Fact) bool { return reflect.TypeOf(t) == reflect.TypeOf(f) })
	}
	pass.AllObjectFacts = func() (all []analysis.ObjectFact) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for o, facts := range a.objects {
			for _, f := range facts {
				if wanted(f) {
					all = append(all, analysis.ObjectFact{Object: o, Fact: f})
				}
			}
		}
		return all
	}
	pass.AllPackageFacts = func() (all []analysis.PackageFact) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for p, facts := range a.packages {
			for _, f := range facts {
				if wanted(f) {
					all = append(all, analysis.PackageFact{Package: p, Fact: f})
				}
			}
		}
		return all
	}
	return pass
}

// find sets a fact to the one of its type that is known about something.
func find[K comparable](a *packageRun, known map[K][]analysis.Fact, about K, fact analysis.Fact) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range known[about] {
		if reflect.TypeOf(f) == reflect.TypeOf(fact) {
			reflect.ValueOf(fact).Elem().Set(reflect.ValueOf(f).Elem())
			return true
		}
	}
	return false
}

// keep remembers a fact, in the place of another one of its type.
func keep[K comparable](a *packageRun, known map[K][]analysis.Fact, about K, fact analysis.Fact) {
	a.mu.Lock()
	defer a.mu.Unlock()
	facts := slices.DeleteFunc(slices.Clone(known[about]), func(f analysis.Fact) bool { return reflect.TypeOf(f) == reflect.TypeOf(fact) })
	known[about] = append(facts, fact)
}

// lines are those of a node.
func lines(fset *token.FileSet, n ast.Node) (from, to int) {
	return fset.Position(n.Pos()).Line, fset.Position(n.End()).Line
}
