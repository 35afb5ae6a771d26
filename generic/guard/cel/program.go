package cel

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"triplane/generic/guard/cel/library"
)

// Program is a planned expression. It is safe for concurrent use.
//
// A program of cel-go keeps the functions of its whole environment, about 50 KB for an expression of one
// character. A Program keeps those that its expression calls.
type Program struct {
	plan *interpreter.ObservableInterpretable
}

// NewProgram plans an expression that was compiled in the environment. Evaluations are limited by cost
// (PerCallLimit) and by their context.
func NewProgram(e *cel.Env, checked *cel.Ast) (*Program, error) {
	tree := checked.NativeRep()
	calls, err := called(e, tree)
	if err != nil {
		return nil, err
	}
	adapter, provider := e.CELTypeAdapter(), e.CELTypeProvider()
	attributes := interpreter.NewAttributeFactory(e.Container, adapter, provider)
	plan, err := interpreter.NewInterpreter(calls, e.Container, provider, adapter, attributes).NewInterpretable(tree,
		interpreter.CustomDecorator(decorateOptional),
		interpreter.InterruptableEval(),
		interpreter.Optimize(),
		interpreter.CustomDecorator(decorateSearch(calls)),
		interpreter.CostObserver(interpreter.CostTrackerFactory(newCostTracker)),
	)
	if err != nil {
		return nil, err
	}
	observable, ok := plan.(*interpreter.ObservableInterpretable)
	if !ok {
		return nil, fmt.Errorf("unexpected plan of an expression: %T", plan)
	}
	return &Program{observable}, nil
}

func newCostTracker() (*interpreter.CostTracker, error) {
	return interpreter.NewCostTracker(library.ActualCosts{},
		interpreter.PresenceTestHasCost(false), interpreter.CostTrackerLimit(PerCallLimit))
}

// called returns the implementations of the functions that an expression calls.
func called(e *cel.Env, tree *ast.AST) (interpreter.Dispatcher, error) {
	names := map[string]bool{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.CallKind {
			names[x.AsCall().FunctionName()] = true
		}
	}))
	out := interpreter.NewDispatcher()
	if len(names) == 0 {
		return out, nil
	}
	all := e.Functions()
	for name := range names {
		bindings, err := all[name].Bindings()
		if err != nil {
			return nil, err
		}
		if err := out.Add(bindings...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Eval evaluates the expression. vars is an interpreter.Activation or a map[string]any. The cost is valid after
// an error, too.
func (p *Program) Eval(ctx context.Context, vars any) (value ref.Val, cost uint64, err error) {
	inputs, err := interpreter.NewActivation(vars)
	if err != nil {
		return nil, 0, err
	}
	var tracker *interpreter.CostTracker
	defer func() {
		if tracker != nil {
			cost = tracker.ActualCost()
		}
		// Like cel-go, turn a panic of an evaluation into its error: the functions run on values of clients.
		if r := recover(); r != nil {
			value, err = nil, evaluationError(r)
		}
	}()
	value = p.plan.ObserveEval(interruptible{inputs, ctx.Done()}, func(state any) {
		tracker, _ = state.(*interpreter.CostTracker)
	})
	if failed, ok := value.(*types.Err); ok {
		err = failed
	}
	return value, 0, err
}

func evaluationError(r any) error {
	if failed, ok := r.(error); ok {
		var cancelled interpreter.EvalCancelledError
		if errors.As(failed, &cancelled) {
			return cancelled
		}
	}
	return fmt.Errorf("internal error: %v", r)
}

// interruption is the variable by which loops find that their context is done.
const interruption = "#interrupted"

// interruptible is an activation whose loops end with a context.
type interruptible struct {
	interpreter.Activation
	done <-chan struct{}
}

// ResolveName implements interpreter.Activation.
func (a interruptible) ResolveName(name string) (any, bool) {
	if name != interruption {
		return a.Activation.ResolveName(name)
	}
	select {
	case <-a.done:
		return true, true
	default:
		return nil, false
	}
}

// optionalOr is a call of the methods or and orValue of optionals, which evaluate their operand only if the
// optional has no value.
type optionalOr struct {
	interpreter.InterpretableCall
	unwrap bool
}

// decorateOptional implements the methods of optionals that are not functions.
func decorateOptional(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	switch call.Function() + " " + call.OverloadID() {
	case "or ", "or optional_or_optional":
		return &plain{&optionalOr{call, false}}, nil
	case "orValue ", "orValue optional_orValue_value":
		return &plain{&optionalOr{call, true}}, nil
	}
	return i, nil
}

// plain hides that a step is a call, so that it costs nothing itself.
type plain struct{ interpreter.Interpretable }

// Eval implements interpreter.Interpretable.
func (c *optionalOr) Eval(vars interpreter.Activation) ref.Val {
	first := c.Args()[0].Eval(vars)
	optional, ok := first.(*types.Optional)
	switch {
	case !ok:
		return first
	case !optional.HasValue():
		return c.Args()[1].Eval(vars)
	case c.unwrap:
		return optional.GetValue()
	}
	return optional
}

// implementation returns the implementation of a call, or nil.
func implementation(calls interpreter.Dispatcher, call interpreter.InterpretableCall) *functions.Overload {
	for _, name := range []string{call.OverloadID(), call.Function()} {
		if o, ok := calls.FindOverload(name); ok {
			return o
		}
	}
	return nil
}
