package cel

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"triplane/apiextensions/schema/cel/library"
)

// perCallLimit bounds the cost of one evaluation, and budget that of all rules
// of an object together.
const (
	perCallLimit = 1000000
	budget       = 10000000
)

// base is the environment that all rules have in common. It is made once, on
// first use, and never changes.
var base = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		library.Kubernetes(),
	)
})

// env is the environment for the rules of a tree.
func (t *tree) env() (*cel.Env, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	return b.Extend(cel.CustomTypeProvider(&provider{Provider: b.CELTypeProvider(), tree: t}))
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
	// usesOld tells that the expression speaks of oldSelf.
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
	p, err := e.Program(ast,
		cel.CostLimit(perCallLimit), cel.InterruptCheckFrequency(100),
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost))
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	uses := false
	for _, r := range ast.NativeRep().ReferenceMap() {
		uses = uses || r.Name == "oldSelf"
	}
	return &program{Program: p, ast: ast, usesOld: uses}, nil
}
