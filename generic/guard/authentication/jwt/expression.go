package jwt

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	authenticationv1 "k8s.io/api/authentication/v1"

	shared "triplane.dev/generic/guard/cel"
)

// Names of variables in expressions.
const (
	claimsVariable = "claims"
	userVariable   = "user"
)

// environments returns the CEL environments of expressions about claims and about the user, by variable.
var environments = sync.OnceValues(func() (map[string]*cel.Env, error) {
	base, err := shared.Base()
	if err != nil {
		return nil, err
	}
	// A value of type any, unlike dyn, cannot be the range of a macro. dyn(claims.groups).map(…) can.
	claims, err := base.Extend(cel.Variable(claimsVariable, cel.MapType(cel.StringType, cel.AnyType)))
	if err != nil {
		return nil, err
	}
	user, err := shared.WithObject[authenticationv1.UserInfo](userVariable)
	return map[string]*cel.Env{claimsVariable: claims, userVariable: user}, err
})

// expression is a compiled expression about one variable.
type expression struct {
	source   string
	variable string
	program  *shared.Program
	ast      *cel.Ast
}

// compile compiles an expression whose result must have one of the types. A type that is only known at run time
// is checked then.
func compile(variable, source string, want ...*cel.Type) (*expression, error) {
	envs, err := environments()
	if err != nil {
		return nil, err
	}
	env := envs[variable]
	ast, err := shared.Compile(env, source)
	if err != nil {
		return nil, err
	}
	if !returns(ast.OutputType(), want) {
		return nil, fmt.Errorf("must evaluate to %s, not to %s", oneOf(want), ast.OutputType())
	}
	program, err := shared.NewProgram(env, ast)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &expression{source: source, variable: variable, program: program, ast: ast}, nil
}

func returns(got *cel.Type, want []*cel.Type) bool {
	if unknown(got) {
		return !want[0].IsExactType(cel.BoolType) // allowed for mappings, not for validation rules
	}
	for _, w := range want {
		if got.IsExactType(w) {
			return true
		}
		// A list whose element type is only known at run time.
		if w.Kind() == types.ListKind && got.Kind() == types.ListKind && unknown(got.Parameters()[0]) {
			return true
		}
	}
	return false
}

// unknown reports whether a type is only known at run time.
func unknown(t *cel.Type) bool { return t.Kind() == types.DynKind || t.Kind() == types.AnyKind }

func oneOf(want []*cel.Type) string {
	text := want[0].String()
	for _, w := range want[1:] {
		text += " or " + w.String()
	}
	return text
}

// eval evaluates the expression with a value of its variable.
func (e *expression) eval(ctx context.Context, value any) (ref.Val, error) {
	result, _, err := e.program.Eval(ctx, map[string]any{e.variable: value})
	return result, err
}

// holds evaluates an expression of type bool.
func (e *expression) holds(ctx context.Context, value any) (bool, error) {
	result, err := e.eval(ctx, value)
	if err != nil {
		return false, err
	}
	b, ok := result.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression evaluated to %s, not to bool", result.Type().TypeName())
	}
	return b, nil
}

// text evaluates an expression of type string.
func (e *expression) text(ctx context.Context, value any) (string, error) {
	result, err := e.eval(ctx, value)
	if err != nil {
		return "", err
	}
	s, ok := result.Value().(string)
	if !ok {
		return "", fmt.Errorf("the expression evaluated to %s, not to string", result.Type().TypeName())
	}
	return s, nil
}

// texts evaluates an expression of type string, list(string) or null. Empty strings are omitted.
func (e *expression) texts(ctx context.Context, value any) ([]string, error) {
	result, err := e.eval(ctx, value)
	if err != nil {
		return nil, err
	}
	if s, ok := result.Value().(string); ok {
		return nonEmpty([]string{s}), nil
	}
	if result.Type() == types.NullType {
		return nil, nil
	}
	list, err := result.ConvertToNative(reflect.TypeFor[[]any]())
	if err != nil {
		return nil, fmt.Errorf("the expression evaluated to %s, not to string or list(string)", result.Type().TypeName())
	}
	return stringsOf(list.([]any))
}

var errNotStrings = errors.New("an element of the list is not a string")

func stringsOf(list []any) ([]string, error) {
	var all []string
	for _, v := range list {
		if r, ok := v.(ref.Val); ok {
			v = r.Value()
		}
		s, ok := v.(string)
		if !ok {
			return nil, errNotStrings
		}
		all = append(all, s)
	}
	return nonEmpty(all), nil
}

func nonEmpty(list []string) []string {
	kept := list[:0]
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// uses reports whether the expression reads a claim, as claims.name or claims["name"].
func (e *expression) uses(claim string) bool {
	found := false
	isClaims := func(x celast.Expr) bool { return x.Kind() == celast.IdentKind && x.AsIdent() == claimsVariable }
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		switch x.Kind() {
		case celast.SelectKind:
			s := x.AsSelect()
			found = found || isClaims(s.Operand()) && s.FieldName() == claim
		case celast.CallKind:
			c := x.AsCall()
			index := c.FunctionName() == operators.Index || c.FunctionName() == operators.OptIndex ||
				c.FunctionName() == operators.OptSelect
			if !index || len(c.Args()) != 2 || !isClaims(c.Args()[0]) || c.Args()[1].Kind() != celast.LiteralKind {
				return
			}
			found = found || c.Args()[1].AsLiteral().Equal(types.String(claim)) == types.True
		}
	}))
	return found
}
