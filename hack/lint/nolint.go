package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// exceptions are what //nolint comments of a package except.
type exceptions struct {
	ranges    []exception
	malformed []finding
}

type exception struct {
	file     string
	from, to int
	column   int // a comment at the column of a node on the next line excepts that node
	checks   []string
}

var (
	nolint     = regexp.MustCompile(`^//\s*nolint\b`)
	wellFormed = regexp.MustCompile(`^//nolint:([a-z0-9,]+) // \S`)
)

func (a *packageRun) exceptions() *exceptions {
	e := &exceptions{}
	for _, f := range a.pkg.syntax {
		first := len(e.ranges)
		for _, group := range f.Comments {
			for _, c := range group.List {
				e.add(a.pkg.fset.Position(c.Pos()), c.Text)
			}
		}
		if len(e.ranges) > first {
			extend(a.pkg.fset, f, e.ranges[first:])
		}
	}
	return e
}

// add adds what a comment excepts, if it is of the kind.
func (e *exceptions) add(at token.Position, comment string) {
	if !nolint.MatchString(comment) {
		return
	}
	m := wellFormed.FindStringSubmatch(comment)
	if m == nil {
		e.malformed = append(e.malformed, finding{at: at, check: "nolint", file: relative(at.Filename),
			text: "should be //nolint:check // and why"})
		return
	}
	e.ranges = append(e.ranges, exception{file: at.Filename, from: at.Line, to: at.Line, column: at.Column, checks: strings.Split(m[1], ",")})
}

// extend widens the exceptions of a file to the nodes that begin on their line, and to those below in the same column.
func extend(fset *token.FileSet, f *ast.File, ranges []exception) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.File, *ast.Comment, *ast.CommentGroup:
			return n != nil
		}
		from, to := lines(fset, n)
		for i, r := range ranges {
			if (r.from == from || r.from+1 == from && r.column == fset.Position(n.Pos()).Column) && to > r.to {
				ranges[i].to = to
			}
		}
		return true
	})
}

// covers reports whether a finding of a check is excepted.
func (e *exceptions) covers(check string, at token.Position) bool {
	return slices.ContainsFunc(e.ranges, func(r exception) bool {
		return r.file == at.Filename && r.from <= at.Line && at.Line <= r.to && slices.Contains(r.checks, check)
	})
}
