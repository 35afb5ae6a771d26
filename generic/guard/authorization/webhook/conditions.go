package webhook

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	authorizationv1 "k8s.io/api/authorization/v1"

	shared "triplane.dev/generic/guard/cel"
)

// Condition is a compiled match condition. The webhook is only called if all conditions are true.
type Condition struct {
	source  string
	program *shared.Program
}

// conditionEnvironment returns the CEL environment of conditions. Its variable "request" is the spec of a
// SubjectAccessReview v1.
var conditionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := shared.Base()
	if err != nil {
		return nil, err
	}
	return base.Extend(
		ext.NativeTypes(ext.ParseStructTag("json"), reflect.TypeFor[authorizationv1.SubjectAccessReviewSpec]()),
		cel.Variable("request", cel.ObjectType("v1.SubjectAccessReviewSpec")))
})

// CompileCondition compiles a CEL expression of type bool.
func CompileCondition(source string) (*Condition, error) {
	env, err := conditionEnvironment()
	if err != nil {
		return nil, err
	}
	ast, err := shared.Compile(env, source)
	if err != nil {
		return nil, err
	}
	if ast.OutputType().Kind() != types.BoolKind {
		return nil, fmt.Errorf("must evaluate to bool, not to %s", ast.OutputType())
	}
	program, err := shared.NewProgram(env, ast)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &Condition{source, program}, nil
}

// match reports whether all conditions are true. If one is false, errors of others are ignored.
func match(ctx context.Context, conditions []*Condition, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	var errs []error
	for _, c := range conditions {
		result, _, err := c.program.Eval(ctx, map[string]any{"request": spec})
		if err != nil {
			errs = append(errs, fmt.Errorf("match condition %q: %w", c.source, err))
			continue
		}
		if result != types.True {
			return false, nil
		}
	}
	return len(errs) == 0, errors.Join(errs...)
}
