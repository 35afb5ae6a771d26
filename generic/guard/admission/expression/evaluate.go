package expression

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Cost limits for one operation: of all expressions of a policy, and of the match conditions of a policy or
// webhook.
const (
	PolicyBudget    = 10000000
	ConditionBudget = PolicyBudget / 4
)

// ErrBudget means that the expressions exceeded their cost budget.
var ErrBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

// ErrCompile is wrapped by the errors of expressions that do not compile.
var ErrCompile = errors.New("the expression does not compile")

// compileError is an error of kube-apiserver's wording that errors.Is treats as ErrCompile.
type compileError struct{ error }

// Is implements the interface of errors.Is.
func (compileError) Is(target error) bool { return target == ErrCompile }

// Unwrap returns the compile error.
func (e compileError) Unwrap() error { return e.error }

type activation = interpreter.Activation

// Evaluation evaluates the expressions of one policy for one operation. It has a budget, params and variables.
type Evaluation struct {
	values    *Values
	params    any
	variables any
	left      int64
}

// NewEvaluation returns an Evaluation with a budget. params is the param object as JSON values, or nil.
func NewEvaluation(v *Values, params map[string]any, budget int64) *Evaluation {
	e := &Evaluation{values: v, left: budget}
	if params != nil {
		e.params = params
	}
	return e
}

// WithVariables adds the policy's variables. Each is evaluated at most once, on first use.
func (e *Evaluation) WithVariables(ctx context.Context, list []Variable) *Evaluation {
	if len(list) > 0 {
		e.variables = &variables{ctx: ctx, evaluation: e, list: list, known: make(map[string]ref.Val, len(list))}
	}
	return e
}

// ResolveName implements CEL's activation.
func (e *Evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case "params":
		return e.params, true
	case "variables":
		return e.variables, true
	}
	return e.values.ResolveName(name)
}

// Parent implements CEL's activation.
func (e *Evaluation) Parent() activation { return nil }

// Evaluate evaluates an expression. The error names the expression and the cause. After ErrBudget every further
// call fails.
func (e *Evaluation) Evaluate(ctx context.Context, x *Expression) (ref.Val, error) {
	if err := x.Err(); err != nil {
		return nil, compileError{err}
	}
	out, err := e.run(ctx, x)
	switch {
	case errors.Is(err, ErrBudget):
		return nil, ErrBudget
	case err != nil:
		return nil, fmt.Errorf("expression '%v' resulted in error: %w", x.Source, err)
	}
	return out, nil
}

func (e *Evaluation) run(ctx context.Context, x *Expression) (ref.Val, error) {
	if e.left < 0 {
		return nil, ErrBudget
	}
	p, err := x.program()
	if err != nil {
		return nil, err
	}
	out, cost, err := p.Eval(ctx, e)
	e.left -= int64(min(cost, PolicyBudget+1)) //nolint:gosec // bounded
	if e.left < 0 {
		return nil, ErrBudget
	}
	return out, err
}

// Variable is a variable of a policy.
type Variable struct {
	Name string
	*Expression
}

// variables is the value of the CEL variable "variables".
type variables struct {
	ctx        context.Context //nolint:containedctx // of one evaluation
	evaluation *Evaluation
	list       []Variable
	known      map[string]ref.Val
}

var variablesType = types.NewObjectType(variablesName)

var _ traits.Indexer = (*variables)(nil)

// Get implements traits.Indexer. If several variables have the same name, the last one wins.
func (v *variables) Get(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	if x, ok := v.known[string(name)]; ok {
		return x
	}
	for i := len(v.list) - 1; i >= 0; i-- {
		if v.list[i].Name == string(name) {
			out := v.evaluate(&v.list[i])
			v.known[string(name)] = out
			return out
		}
	}
	return types.NewErr("no such key: %s", name)
}

func (v *variables) evaluate(x *Variable) ref.Val {
	if err := x.Err(); err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", x.Name, err)
	}
	out, err := v.evaluation.run(v.ctx, x.Expression)
	if err != nil {
		return types.WrapErr(fmt.Errorf("composited variable %q fails to evaluate: %w", x.Name, err))
	}
	return out
}

// IsSet implements traits.FieldTester.
func (v *variables) IsSet(key ref.Val) ref.Val {
	for i := range v.list {
		if types.String(v.list[i].Name).Equal(key) == types.True {
			return types.True
		}
	}
	return types.False
}

// ConvertToNative implements ref.Val.
func (v *variables) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from %s to %v", variablesName, t)
}

// ConvertToType implements ref.Val.
func (v *variables) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return variablesType
	}
	return types.NewErr("type conversion error from %q to %q", variablesName, t.TypeName())
}

// Equal implements ref.Val.
func (v *variables) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(v) == other) }

// Type implements ref.Val.
func (v *variables) Type() ref.Type { return variablesType }

// Value implements ref.Val.
func (v *variables) Value() any { return v.known }
