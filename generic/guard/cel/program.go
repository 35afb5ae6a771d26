package cel

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"triplane.dev/generic/guard/cel/library"
)

// Program is a planned expression. It is safe for concurrent use.
type Program struct {
	program cel.Program
}

// NewProgram plans an expression that was compiled in the environment. Evaluations are limited by cost
// (PerCallLimit) and by their context.
func NewProgram(e *cel.Env, checked *cel.Ast) (*Program, error) {
	p, err := e.Program(checked, cel.CostLimit(PerCallLimit), cel.InterruptCheckFrequency(100),
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.OptimizeRegex(library.ConstantPatterns()...),
		cel.CostTracking(library.ActualCosts{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)))
	if err != nil {
		return nil, err
	}
	return &Program{p}, nil
}

// Eval evaluates the expression. vars is an interpreter.Activation or a map[string]any. The cost is valid after
// an error, too.
func (p *Program) Eval(ctx context.Context, vars any) (value ref.Val, cost uint64, err error) {
	value, details, err := p.program.ContextEval(ctx, vars)
	if details != nil {
		if actual := details.ActualCost(); actual != nil {
			cost = *actual
		}
	}
	return value, cost, err
}
