package admissionregistration

import (
	"context"
	"strings"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/admission/expression"
)

// expressions compiles the expressions of one object and reports what is
// wrong with them. The compiler is made when there is the first of them.
type expressions struct {
	ctx      context.Context //nolint:containedctx // of the request
	scope    expression.Scope
	compiler *expression.Compiler
	failed   error
	declared bool
}

// ofWebhook and ofPolicy are what the match conditions, and other expressions, of
// a webhook and a policy see.
func ofWebhook(ctx context.Context) *expressions {
	return &expressions{ctx: ctx, scope: expression.Scope{Authorizer: true}}
}

func ofPolicy(ctx context.Context, params *admissionv1.ParamKind) *expressions {
	return &expressions{ctx: ctx, scope: expression.Scope{Authorizer: true, Params: params != nil}}
}

func (e *expressions) ready() bool {
	if e.compiler == nil && e.failed == nil {
		e.compiler, e.failed = expression.NewCompiler()
	}
	return e.failed == nil
}

// check reports what is wrong with an expression whose value must be of one of the
// types. Where the request has ended, nothing is compiled any more.
func (e *expressions) check(scope expression.Scope, source string, path *field.Path,
	want ...*types.Type) field.ErrorList {
	if !e.ready() {
		return field.ErrorList{field.InternalError(path, e.failed)}
	}
	if e.ctx.Err() != nil {
		return nil
	}
	return wrong(e.compiler.Compile(scope, source, want...), path)
}

// variable is check for a variable, which later expressions know.
func (e *expressions) variable(v *admissionv1.Variable, path *field.Path) field.ErrorList {
	if !e.ready() {
		return field.ErrorList{field.InternalError(path, e.failed)}
	}
	if e.ctx.Err() != nil {
		return nil
	}
	return wrong(e.compiler.Variable(e.scope, v.Name, v.Expression), path)
}

// declare makes variables known to the expressions that follow, of which there
// may be none.
func (e *expressions) declare() {
	if !e.declared && e.ready() {
		e.declared = true
		e.compiler.Declare()
	}
}

// patch is check for what makes a patch, which has to be there.
func (e *expressions) patch(source string, want *types.Type, path *field.Path) field.ErrorList {
	if strings.TrimSpace(source) == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return e.check(e.scope, source, path, want)
}

// condition is check for what has to be true or false.
func (e *expressions) condition(source string, path *field.Path) field.ErrorList {
	return e.check(e.scope, source, path, types.BoolType)
}

// message is check for a messageExpression, which cannot ask the authorizer.
func (e *expressions) message(source string, path *field.Path) field.ErrorList {
	scope := e.scope
	scope.Authorizer = false
	return e.check(scope, source, path, types.StringType)
}

func wrong(x *expression.Expression, path *field.Path) field.ErrorList {
	if err := x.Err(); err != nil {
		return field.ErrorList{field.Invalid(path, x.Source, err.Error())}
	}
	return nil
}
