package cel

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	shared "triplane.dev/generic/guard/cel"
	"triplane.dev/generic/guard/cel/library"
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

// environment returns what the rules of a node see. optionalOld says that there may be no old value.
type environment func(optionalOld bool) (*cel.Env, error)

// environment extends e for the rules of the node, when the first one asks.
func (n *node) environment(e *cel.Env) environment {
	extend := func(old *types.Type) func() (*cel.Env, error) {
		return sync.OnceValues(func() (*cel.Env, error) {
			return e.Extend(cel.Variable("self", n.typ), cel.Variable("oldSelf", old))
		})
	}
	always, optional := extend(n.typ), extend(types.NewOptionalType(n.typ))
	return func(optionalOld bool) (*cel.Env, error) {
		if optionalOld {
			return optional()
		}
		return always()
	}
}

// program is a compiled expression.
type program struct {
	*shared.Program
	ast *cel.Ast
	// usesOld says that the expression speaks of oldSelf.
	usesOld bool
}

// compile checks an expression whose value must be of the type want.
func compile(e *cel.Env, expression string, want *types.Type, wrongType string) (*program, error) {
	ast, err := shared.Compile(e, expression)
	if err != nil {
		return nil, err
	}
	if !ast.OutputType().IsExactType(want) {
		return nil, fmt.Errorf("%s", wrongType)
	}
	p, err := shared.NewProgram(e, ast)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	uses := false
	for _, r := range ast.NativeRep().ReferenceMap() {
		uses = uses || r.Name == "oldSelf"
	}
	return &program{Program: p, ast: ast, usesOld: uses}, nil
}
