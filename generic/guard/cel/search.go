package cel

import (
	"regexp"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"triplane/generic/guard/cel/library"
	"triplane/internal/pattern"
)

// search is a call of a function that matches a regular expression. A search in a long text ends with the
// context: cel-go checks the context only between the steps of loops.
type search struct {
	interpreter.InterpretableCall
	implementation *functions.Overload
	constant       *regexp.Regexp // if the expression has it as a literal
}

// decorateSearch compiles literal regular expressions and makes searches interruptible.
func decorateSearch(calls interpreter.Dispatcher) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) < 2 {
			return i, nil
		}
		switch call.Function() {
		case "matches", "find", "findAll":
		default:
			return i, nil
		}
		s := &search{InterpretableCall: call, implementation: implementation(calls, call)}
		literal, ok := call.Args()[1].(interpreter.InterpretableConst)
		if text, isText := constant(literal, ok); isText && call.Function() == "matches" {
			var err error
			if s.constant, err = regexp.Compile(text); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
}

func constant(literal interpreter.InterpretableConst, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	text, ok := literal.Value().(types.String)
	return string(text), ok
}

// Eval implements interpreter.Interpretable.
func (s *search) Eval(vars interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(s.Args()))
	for i, a := range s.Args() {
		if args[i] = a.Eval(vars); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	return types.LabelErrNode(s.ID(), s.call(args, vars))
}

func (s *search) call(args []ref.Val, vars interpreter.Activation) ref.Val {
	text, isText := args[0].(types.String)
	source, isPattern := args[1].(types.String)
	if isText && isPattern && pattern.Long(string(text), string(source)) {
		return s.long(string(text), string(source), args, vars)
	}
	switch {
	case s.constant != nil && isText:
		return types.Bool(s.constant.MatchString(string(text)))
	case s.constant != nil:
		return types.NoSuchOverloadErr()
	}
	return s.plain(args)
}

// plain calls the function's implementation.
func (s *search) plain(args []ref.Val) ref.Val {
	switch o := s.implementation; {
	case o != nil && len(args) == 2 && o.Binary != nil:
		return o.Binary(args[0], args[1])
	case o != nil && o.Function != nil:
		return o.Function(args...)
	}
	return types.NewErr("no such overload: %s", s.Function())
}

// long searches in a text for so long that the client may have left.
func (s *search) long(text, source string, args []ref.Val, vars interpreter.Activation) ref.Val {
	stopped := func() bool {
		stop, ok := vars.ResolveName(interruption)
		return ok && stop == true
	}
	if s.Function() == "findAll" {
		// The cost is known before.
		if cost := (library.ActualCosts{}).CallCost(s.Function(), s.OverloadID(), args, nil); cost != nil &&
			*cost > PerCallLimit {
			panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded,
				Message: "operation cancelled: actual cost limit exceeded"})
		}
		return s.plain(args)
	}
	re, err := s.constant, error(nil)
	if re == nil {
		if re, err = regexp.Compile(source); err != nil {
			return s.plain(args) // for the error
		}
	}
	from, to, err := pattern.Find(re, text, stopped)
	switch {
	case err != nil:
		return types.NewErr("operation interrupted")
	case s.Function() == "matches":
		return types.Bool(from >= 0)
	case from < 0:
		return types.String("")
	}
	return types.String(text[from:to])
}
