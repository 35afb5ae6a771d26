package cel

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
)

// maxUnifications limits the type checker's work on the type parameters of an expression. For each value whose
// type it compares, the checker copies the types of all parameters. This limit takes about a second. An
// expression with the parser's maximum of 100,000 characters could take minutes, and the checker cannot be
// interrupted.
const maxUnifications = 6_000_000

// ErrComplex is the error for an expression beyond maxUnifications.
var ErrComplex = errors.New("compilation failed: the expression is too complex: split it, or compare with the elements of one list")

// Compile parses and checks an expression. The error has kube-apiserver's wording.
func Compile(e *cel.Env, source string) (*cel.Ast, error) {
	parsed, issues := e.Parse(source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("compilation failed: %s", issues.String())
	}
	if tooComplex(e, parsed.NativeRep()) {
		return nil, ErrComplex
	}
	checked, issues := e.Check(parsed)
	if issues.Err() != nil {
		return nil, fmt.Errorf("compilation failed: %s", issues.String())
	}
	return checked, nil
}

// tooComplex reports whether checking an expression would exceed maxUnifications, which it estimates from the
// syntax tree.
func tooComplex(e *cel.Env, parsed *ast.AST) bool {
	c := &complexity{functions: e.Functions()}
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(c.count))
	return c.parameters*c.checks > maxUnifications
}

// complexity counts the type parameters of an expression, and the values whose types the checker compares.
type complexity struct {
	functions          map[string]*decls.FunctionDecl
	parameters, checks int
}

func (c *complexity) count(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		c.call(e.AsCall())
	case ast.ListKind:
		c.checks += e.AsList().Size()
		if e.AsList().Size() == 0 {
			c.parameters++
		}
	case ast.MapKind:
		c.checks += 2 * e.AsMap().Size()
		if e.AsMap().Size() == 0 {
			c.parameters += 2
		}
	case ast.StructKind:
		c.checks += len(e.AsStruct().Fields())
	case ast.ComprehensionKind:
		c.checks += 3
	}
}

func (c *complexity) call(call ast.CallExpr) {
	f := c.functions[call.FunctionName()]
	if f == nil {
		return
	}
	for _, o := range f.OverloadDecls() {
		if o.IsMemberFunction() == call.IsMemberFunction() {
			c.checks++
			c.parameters += len(o.TypeParams())
		}
	}
}
