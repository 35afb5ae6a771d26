package expression

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	shared "triplane.dev/generic/guard/cel"
	"triplane.dev/generic/guard/cel/library"
)

// Scope selects which variables an expression has in addition to those of every expression.
type Scope struct {
	Params     bool
	Authorizer bool
	// Mutation adds the types Object and JSONPatch.
	Mutation bool
}

// Expression is a compiled expression, or the error of its compilation.
type Expression struct {
	Source string
	// program plans the expression on its first use: a plan keeps the functions of the whole environment, and a
	// policy may have tens of thousands of variables that no expression of it uses.
	program func() (*shared.Program, error)
	err     error
}

// Compiler compiles the expressions of one policy. It is not safe for concurrent
// use.
type Compiler struct {
	provider *provider
	base     *cel.Env
	env      map[Scope]*cel.Env
}

// NewCompiler returns a compiler without policy variables.
func NewCompiler() (*Compiler, error) {
	base, err := shared.Base()
	if err != nil {
		return nil, err
	}
	return &Compiler{
		base:     base,
		provider: &provider{Provider: base.CELTypeProvider(), structs: structs()},
		env:      map[Scope]*cel.Env{},
	}, nil
}

// Declare adds the variable "variables", to which Variable adds fields.
func (c *Compiler) Declare() {
	c.provider.variables = fieldTypes{}
	clear(c.env)
}

func (c *Compiler) scope(s Scope) (*cel.Env, error) {
	if e, ok := c.env[s]; ok {
		return e, nil
	}
	p := *c.provider
	p.mutation = s.Mutation
	opts := []cel.EnvOption{
		p.option(), library.Authorizer(),
		cel.Variable("object", types.DynType), cel.Variable("oldObject", types.DynType),
		cel.Variable("request", types.NewObjectType(requestName)),
		cel.Variable("namespaceObject", types.NewObjectType(namespaceName)),
	}
	if s.Params {
		opts = append(opts, cel.Variable("params", types.DynType))
	}
	if s.Authorizer {
		opts = append(opts, cel.Variable("authorizer", library.AuthorizerType),
			cel.Variable("authorizer.requestResource", library.ResourceCheckType))
	}
	if p.variables != nil {
		opts = append(opts, cel.Variable("variables", types.NewObjectType(variablesName)))
	}
	if s.Mutation {
		opts = append(opts, library.JSONPatch())
	}
	e, err := c.base.Extend(opts...)
	if err != nil {
		return nil, err
	}
	c.env[s] = e
	return e, nil
}

// Compile compiles an expression whose result must have one of the types; no types allow any. An Expression
// with an Err can be evaluated and then returns that error.
func (c *Compiler) Compile(s Scope, source string, want ...*types.Type) *Expression {
	x, _ := c.compile(s, source, want)
	return x
}

// Variable compiles a policy variable and adds it to the scope of the following expressions.
func (c *Compiler) Variable(s Scope, name, source string) *Expression {
	x, typ := c.compile(s, source, nil)
	c.provider.variables[name] = declared(typ)
	return x
}

// declared returns the declared type of a variable. Types without literals or elements (authorizers,
// quantities, optionals, requests) become dyn.
func declared(t *types.Type) *types.Type {
	switch t.Kind() {
	case types.OpaqueKind, types.StructKind, types.TypeKind:
		return types.DynType
	case types.ListKind:
		return types.NewListType(declared(t.Parameters()[0]))
	case types.MapKind:
		return types.NewMapType(declared(t.Parameters()[0]), declared(t.Parameters()[1]))
	default:
		return t
	}
}

func (c *Compiler) compile(s Scope, source string, want []*types.Type) (*Expression, *types.Type) {
	x := &Expression{Source: source}
	e, err := c.scope(s)
	if err != nil {
		x.err = err
		return x, types.DynType
	}
	ast, err := shared.Compile(e, source)
	if err != nil {
		x.err = err
		return x, types.DynType
	}
	typ := ast.OutputType()
	if !oneOf(typ, want) {
		x.err = fmt.Errorf("%s but got %s", wanted(want), typ)
		return x, typ
	}
	x.program = sync.OnceValues(func() (*shared.Program, error) {
		p, err := shared.NewProgram(e, ast)
		if err != nil {
			return nil, fmt.Errorf("program instantiation failed: %w", err)
		}
		return p, nil
	})
	return x, typ
}

func oneOf(t *types.Type, want []*types.Type) bool {
	for _, w := range want {
		if t.IsExactType(w) {
			return true
		}
	}
	return len(want) == 0
}

func wanted(want []*types.Type) string {
	if len(want) == 1 {
		return "must evaluate to " + want[0].String()
	}
	names := make([]string, len(want))
	for i, w := range want {
		names[i] = w.String()
	}
	return fmt.Sprintf("must evaluate to one of %v", names)
}

// Err returns the compile error in kube-apiserver's wording, or nil.
func (x *Expression) Err() error {
	if x.err != nil {
		return x.err
	}
	_, err := x.program()
	return err
}
