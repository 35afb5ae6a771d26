package cel

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	shared "triplane/generic/cel"
	"triplane/generic/cel/library"
)

// perCallLimit bounds the cost of one evaluation, and budget that of all rules
// of an object together.
const (
	perCallLimit = shared.PerCallLimit
	budget       = 10000000
)

// env is the environment for the rules of a tree.
func (t *tree) env() (*cel.Env, error) {
	b, err := shared.Base()
	if err != nil {
		return nil, err
	}
	// Rules may name the authorizer's functions, but have no authorizer to ask.
	return b.Extend(library.Authorizer(), cel.CustomTypeProvider(&provider{Provider: b.CELTypeProvider(), tree: t}))
}

// forRule declares what a rule of the node sees.
func (n *node) forRule(e *cel.Env, optionalOld bool) (*cel.Env, error) {
	old := n.typ
	if optionalOld {
		old = types.NewOptionalType(n.typ)
	}
	return e.Extend(cel.Variable("self", n.typ), cel.Variable("oldSelf", old))
}

// program is a compiled expression.
type program struct {
	cel.Program
	ast *cel.Ast
	// usesOld says that the expression speaks of oldSelf.
	usesOld bool
}

// compile checks an expression whose value must be of the type want.
func compile(e *cel.Env, expression string, want *types.Type, wrongType string) (*program, error) {
	ast, issues := e.Compile(expression)
	if issues.Err() != nil {
		return nil, fmt.Errorf("compilation failed: %s", issues.String())
	}
	if !ast.OutputType().IsExactType(want) {
		return nil, fmt.Errorf("%s", wrongType)
	}
	p, err := e.Program(ast, shared.ProgramOptions()...)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	uses := false
	for _, r := range ast.NativeRep().ReferenceMap() {
		uses = uses || r.Name == "oldSelf"
	}
	return &program{Program: p, ast: ast, usesOld: uses}, nil
}
